import { z } from 'zod';
import {
  confirmFactor,
  countRecoveryCodes,
  deleteFactor,
  type FactorRow,
  findUnconfirmed,
  insertTotp,
  listFactors,
  needsFactor,
  renameFactor,
} from '../../../db/accounts/factors.ts';
import { lockUser } from '../../../db/accounts/users.ts';
import { transact } from '../../../db/database.ts';
import { found, notFound, Problem } from '../../../domain/errors.ts';
import { limits } from '../../../domain/limits.ts';
import { lackingFactor } from '../../access/auth.ts';
import type { UserCaller } from '../../access/caller.ts';
import { changesBetween } from '../../access/changes.ts';
import { answer, endpoint } from '../../http/endpoint.ts';
import { exampleOf, present } from '../../http/record.ts';
import { ById, Name, named, Time } from '../../http/schemas.ts';
import { recordFactorChange } from '../mail.ts';
import { renewRecoveryCodes } from './recovery-codes.ts';
import { addFactor } from './second-factor.ts';
import { newTotpSecret, stepOf, totpUri } from './totp.ts';

/** Second factors of the user who is signed in. */

export const Factor = named('Factor', {
  id: z.uuid().meta({ examples: ['fa000000-0000-4000-8000-000000000001'] }),
  type: z.enum(['totp', 'passkey']),
  name: z.string().meta({ examples: ['Phone'] }),
  createdAt: Time,
  lastUsedAt: Time.nullable(),
});

export const NewFactor = named('NewFactor', {
  factor: Factor,
  recoveryCodes: z
    .array(z.string())
    .nullable()
    .describe('Ten codes with the first factor, shown once; null with further factors')
    .meta({ examples: [['k7m2p-9xwqa', 'b4t8n-hc3vz']] }),
});

export const FactorName = Name.optional();

/** Returns the target of a security event about a factor. */
export function aboutFactor({ id, type }: Pick<FactorRow, 'id' | 'type'>) {
  return { target: { type: 'factor', id }, details: { factorId: id, type } };
}

const Code = z
  .string()
  .max(20)
  .describe('Six digits; spaces are ignored')
  .meta({ examples: ['492 039'] });

const getFactors = endpoint({
  id: 'listMyFactors',
  method: 'GET',
  path: '/users/@me/factors',
  summary: 'List the second factors of the logged-in user',
  description:
    '`required`: a project of the user demands a second factor. `recoveryCodesLeft`: codes ' +
    'that are not used yet.',
  access: 'session',
  response: named('Factors', {
    factors: z.array(Factor),
    recoveryCodesLeft: z.int().meta({ examples: [10] }),
    required: z.boolean().meta({ examples: [false] }),
  }),
  example: { response: { factors: [exampleOf(Factor)], recoveryCodesLeft: 10, required: false } },
  async handle({ db, caller: { userId } }) {
    return {
      factors: (await listFactors(db, userId)).map((row) => present(Factor, row)),
      recoveryCodesLeft: await countRecoveryCodes(db, userId),
      required: await needsFactor(db, userId),
    };
  },
});

const addTotp = endpoint({
  id: 'addTotp',
  method: 'POST',
  path: '/users/@me/factors/totp',
  summary: 'Begin to add an authenticator app as a second factor',
  description:
    'Only this response has the secret. It becomes a factor when its first code is confirmed ' +
    'within 10 minutes; another call replaces it. FACTOR_LIMIT: the account has 10 factors.',
  access: 'session',
  fresh: true,
  status: 201,
  body: z.object({ name: FactorName }),
  response: named('NewTotp', {
    id: z.uuid(),
    secret: z.string().describe('The secret as base32, to type into the app'),
    uri: z.string().describe('The address in the picture that the app reads'),
  }),
  problems: ['FACTOR_LIMIT'],
  example: {
    body: { name: 'Phone' },
    response: {
      id: 'fa000000-0000-4000-8000-000000000001',
      secret: 'JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP',
      uri: 'otpauth://totp/Everpost:ada%40shop.example?issuer=Everpost&secret=JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP&algorithm=SHA1&digits=6&period=30',
    },
  },
  async handle({ db, cipher, config, caller: { userId, email }, body }) {
    const secret = newTotpSecret();
    const sealed = cipher.encrypt(secret);
    const name = body.name ?? 'Authenticator app';
    const id = await transact(db, (tx) =>
      insertTotp(tx, { userId, name, secret: sealed }, limits.factors),
    );
    if (id === undefined) throw factorLimit();
    const issuer = `Everpost (${new URL(config.dashboardUrl).hostname})`;
    return { id, secret, uri: totpUri(secret, { issuer, label: email }) };
  },
});

export function factorLimit(): Problem {
  return new Problem('FACTOR_LIMIT', { details: { limit: limits.factors } });
}

const confirmTotp = endpoint({
  id: 'confirmTotp',
  method: 'POST',
  path: '/users/@me/factors/totp/{id}/confirm',
  summary: 'Confirm an authenticator app by its first code',
  description:
    'From now on, a login needs a second factor. The session of this request has one; the ' +
    'cookie of the response replaces its cookie. Other sessions go on without a factor. ' +
    'INVALID_CODE: the code is wrong.',
  access: 'session',
  fresh: true,
  params: ById,
  body: z.object({ code: Code }),
  response: NewFactor,
  problems: ['INVALID_CODE', 'FACTOR_NOT_FOUND'],
  example: { body: { code: '492 039' }, response: exampleOf(NewFactor) },
  async handle({ db, cipher, config, request, caller, params, body, note }) {
    const waiting = await findUnconfirmed(db, caller.userId, params.id);
    const { secret } = found('FACTOR', params.id, waiting);
    if (secret === null) throw notFound('FACTOR', params.id);
    const step = stepOf(cipher.decrypt(secret), body.code.replaceAll(/\s/g, ''));
    if (step === null) throw new Problem('INVALID_CODE');
    return transact(db, async (tx) => {
      const user = await lockUser(tx, caller.userId);
      if (!user) throw new Problem('UNAUTHORIZED');
      const isFirst = (await listFactors(tx, user.id)).length === 0;
      const row = found('FACTOR', params.id, await confirmFactor(tx, params.id, step));
      const recoveryCodes = isFirst ? await renewRecoveryCodes(tx, user.id) : null;
      await note({ event: 'factor.added', ...aboutFactor(row) }, tx);
      await recordFactorChange(tx, config, user, { change: 'added', name: row.name });
      const cookie = await addFactor({ db: tx, config, request }, user, caller.sessionId, 'totp');
      const data = { factor: present(Factor, row), recoveryCodes };
      return answer(data, { headers: { 'Set-Cookie': cookie } });
    });
  },
});

const renameMyFactor = endpoint({
  id: 'renameMyFactor',
  method: 'PATCH',
  path: '/users/@me/factors/{id}',
  summary: 'Rename a second factor',
  description: 'FACTOR_NOT_FOUND: the user has no such factor.',
  access: 'session',
  params: ById,
  body: z.object({ name: Name }),
  response: Factor,
  problems: ['FACTOR_NOT_FOUND'],
  example: { body: { name: 'New phone' }, response: exampleOf(Factor) },
  async handle({ db, caller, params: { id }, body, note }) {
    return transact(db, async (tx) => {
      await lockUser(tx, caller.userId);
      const factors = await listFactors(tx, caller.userId);
      const before = factors.find((one) => one.id === id);
      const row = found('FACTOR', id, await renameFactor(tx, caller.userId, id, body.name));
      const changes = changesBetween({ name: before?.name }, { name: row.name });
      await note({ event: 'factor.changed', changes, ...aboutFactor(row) }, tx);
      return present(Factor, row);
    });
  },
});

/**
 * Requires a session with a second factor.
 * @throws Problem SECOND_FACTOR_REQUIRED
 */
function requireFactor(caller: UserCaller): void {
  if (caller.secondFactor === null) throw lackingFactor(caller);
}

const removeMyFactor = endpoint({
  id: 'removeMyFactor',
  method: 'DELETE',
  path: '/users/@me/factors/{id}',
  summary: 'Remove a second factor; with the last one, the recovery codes',
  description:
    'FACTOR_NEEDED: it is the last factor, and a project of the user demands one. ' +
    'SECOND_FACTOR_REQUIRED: the session has no second factor.',
  access: 'session',
  fresh: true,
  status: 204,
  params: ById,
  response: z.void(),
  problems: ['FACTOR_NOT_FOUND', 'FACTOR_NEEDED', 'SECOND_FACTOR_REQUIRED'],
  async handle({ db, config, caller, params: { id }, note }) {
    await transact(db, async (tx) => {
      const user = await lockUser(tx, caller.userId);
      if (!user) throw new Problem('UNAUTHORIZED');
      const factors = await listFactors(tx, user.id);
      const row = found(
        'FACTOR',
        id,
        factors.find((one) => one.id === id),
      );
      requireFactor(caller);
      if (factors.length === 1 && (await needsFactor(tx, user.id))) {
        const message = 'One of your projects requires a second factor, and this is your last one.';
        const suggestion = 'First add another factor with POST /users/@me/factors/totp.';
        throw new Problem('FACTOR_NEEDED', { message, suggestion });
      }
      await deleteFactor(tx, user.id, id);
      await note({ event: 'factor.removed', ...aboutFactor(row) }, tx);
      await recordFactorChange(tx, config, user, { change: 'removed', name: row.name });
    });
  },
});

const renewMyRecoveryCodes = endpoint({
  id: 'renewMyRecoveryCodes',
  method: 'POST',
  path: '/users/@me/recovery-codes',
  summary: 'Make ten new recovery codes; the former ones end',
  description:
    'Only this response has the codes. FACTOR_NEEDED: the account has no second factor. ' +
    'SECOND_FACTOR_REQUIRED: the session has none.',
  access: 'session',
  fresh: true,
  response: named('RecoveryCodes', {
    recoveryCodes: z.array(z.string()).meta({ examples: [['k7m2p-9xwqa', 'b4t8n-hc3vz']] }),
  }),
  problems: ['FACTOR_NEEDED', 'SECOND_FACTOR_REQUIRED'],
  example: { response: { recoveryCodes: ['k7m2p-9xwqa', 'b4t8n-hc3vz'] } },
  async handle({ db, caller, note }) {
    const { userId } = caller;
    const hasFactor = (await listFactors(db, userId)).length > 0;
    if (!hasFactor) throw new Problem('FACTOR_NEEDED');
    requireFactor(caller);
    return transact(db, async (tx) => {
      if (!(await lockUser(tx, userId))) throw new Problem('UNAUTHORIZED');
      await note({ event: 'recovery_code.renewed' }, tx);
      return { recoveryCodes: await renewRecoveryCodes(tx, userId) };
    });
  },
});

export const factorEndpoints = [
  getFactors,
  addTotp,
  confirmTotp,
  renameMyFactor,
  removeMyFactor,
  renewMyRecoveryCodes,
];
