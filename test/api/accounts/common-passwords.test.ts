import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { isCommonPassword } from '../../../api/accounts/common-passwords.ts';
import { hashPassword } from '../../../api/accounts/passwords.ts';
import { useApi, type TestAnswer } from '../../support/api.ts';

const api = await useApi();

const post = (path: string, body: unknown, cookie?: string) =>
  api.request('POST', path, { body, ...(cookie ? { cookie } : {}) });
const faultsOf = ({ status, body }: TestAnswer) => [
  status,
  body.error?.errors?.map(({ field, code }: Record<string, string>) => [field, code]),
];
const tooCommon = (field: string) => [422, [[field, 'too_common']]];

describe('a password that is among the 10,000 most common', () => {
  const inAnyCase = ['password1', 'Password1', 'PASSWORD1', 'iloveyou2', 'qwertyuiop', '12345678'];

  it.each(inAnyCase)('is refused at sign-up: %s', async (password) => {
    const refused = await post('/auth/signup', { email: `${randomUUID()}@users.test`, password });
    expect(faultsOf(refused)).toEqual(tooCommon('password'));
    expect(JSON.stringify(refused.body)).not.toContain(password);
  });

  it('is refused when the password is changed', async () => {
    const { cookie } = await api.signUp();
    const body = { currentPassword: 'a password', newPassword: 'TrustNo1' };
    expect(faultsOf(await post('/users/@me/password', body, cookie))).toEqual(
      tooCommon('newPassword'),
    );
  });

  it('is refused when it is reset', async () => {
    const body = { token: '0'.repeat(64), newPassword: 'sunshine' };
    expect(faultsOf(await post('/auth/reset-password', body))).toEqual(tooCommon('newPassword'));
  });

  it('still logs in who has it from before', async () => {
    const { email, userId } = await api.signUp();
    const other = await api.signUp();
    await api.db
      .updateTable('app_user')
      .set({ password_hash: await hashPassword('password1') })
      .where('id', '=', userId)
      .execute();
    expect((await post('/auth/login', { email, password: 'password1' })).status).toBe(200);
    const wrong = await post('/auth/login', { email: other.email, password: 'password1' });
    expect(wrong.status).toBe(401);
  });
});

describe('the list', () => {
  it('ends at the 10,000th', () => {
    // Places 9,998, 10,000, 10,003 and 10,010 of the list.
    expect(['24021985', '24081990', '25111988', '27071983'].map(isCommonPassword)).toEqual([
      true,
      true,
      false,
      false,
    ]);
  });

  it('holds none of what people are advised to take', () => {
    const good = ['correct horse battery', 'a password', 'password1!', 'kpRq7-vvT2x'];
    expect(good.filter(isCommonPassword)).toEqual([]);
  });
});
