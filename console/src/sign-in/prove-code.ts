import { accountApi } from '../api/api.ts';

/** Proves the second factor by a code of an authenticator app, or by a recovery code. */
export async function proveCode(code: string): Promise<void> {
  const isOfApp = /^[\d\s]*$/.test(code);
  await accountApi.post('/auth/second-factor', {
    body: isOfApp ? { code } : { recoveryCode: code.trim() },
  });
}
