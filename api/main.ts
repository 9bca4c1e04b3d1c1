import { ConfigError, readConfig } from '../config.ts';
import { serve } from './serve.ts';

try {
  await serve(readConfig(process.env));
  process.exit(0);
} catch (error) {
  // The error for a host name with several addresses, such as localhost, has a code but no message.
  const { message = '', code = '' } = error as { message?: string; code?: string };
  const text = message || code || String(error);
  process.stderr.write(
    error instanceof ConfigError ? `${text}\n` : `The API did not start. ${text}\n`,
  );
  process.exit(1);
}
