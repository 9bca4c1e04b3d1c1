import { syncBuiltinESMExports } from 'node:module';
import tls from 'node:tls';
import { atEnd } from '../use.ts';
import type { Certificate } from './certificate.ts';

/** Makes this process trust an issuer's certificate until the end of the test or file. */
export function useTrust({ pem }: Certificate): void {
  const { connect } = tls;
  const trusting = (options: tls.ConnectionOptions, onSecure?: () => void) =>
    connect({ ca: pem, ...options }, onSecure);
  tls.connect = trusting as typeof connect;
  syncBuiltinESMExports();
  atEnd(() => {
    tls.connect = connect;
    syncBuiltinESMExports();
  });
}
