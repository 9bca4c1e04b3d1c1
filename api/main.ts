import { ConfigError, readConfig } from '../config.ts';
import { serve } from './serve.ts';

try {
  await serve(readConfig(process.env));
  process.exit(0);
} catch (error) {
  const text = error instanceof Error ? error.message : String(error);
  process.stderr.write(
    error instanceof ConfigError ? `${text}\n` : `The API did not start. ${text}\n`,
  );
  process.exit(1);
}
