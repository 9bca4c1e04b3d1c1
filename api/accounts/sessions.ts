import { z } from 'zod';
import { deleteOtherSessions, deleteSession, listSessions } from '../../db/accounts/sessions.ts';
import { Problem } from '../../domain/errors.ts';
import { answer, endpoint } from '../http/endpoint.ts';
import { exampleOf, present } from '../http/record.ts';
import { Time, named, ById } from '../http/schemas.ts';
import { endSession } from '../access/session.ts';
import { transact } from '../../db/database.ts';

const Session = named('Session', {
  id: z.uuid().meta({ examples: ['0e9b6f0c-52a8-7b5c-8a51-0f3f6b9d2c77'] }),
  createdAt: Time,
  lastSeenAt: Time.meta({ description: 'Exact to five minutes' }),
  ip: z
    .string()
    .nullable()
    .meta({ examples: ['203.0.113.7'] }),
  userAgent: z
    .string()
    .nullable()
    .meta({ examples: ['Mozilla/5.0 (X11; Linux x86_64; rv:145.0) Gecko/20100101 Firefox/145.0'] }),
  current: z
    .boolean()
    .meta({ description: 'True for the session of this request', examples: [true] }),
  method: z
    .enum(['password', 'github', 'google', 'oidc', 'passkey', 'break_glass'])
    .describe('How the user has logged in'),
  provider: z
    .string()
    .nullable()
    .describe('The identity provider of `oidc`; null for other methods')
    .meta({ examples: [null] }),
  secondFactor: z
    .enum(['totp', 'passkey', 'recovery', 'provider'])
    .nullable()
    .describe('The second proof, at the login or later; null: none'),
  freshUntil: Time.nullable().describe(
    'Until then, requests that need a recent login work; null: they always work',
  ),
  expiresAt: Time,
});

const listMySessions = endpoint({
  id: 'listMySessions',
  method: 'GET',
  path: '/users/@me/sessions',
  summary: 'List the sessions of the logged-in user, the last used first',
  description: '`current` marks the session of this request.',
  access: 'session',
  response: z.array(Session),
  example: { response: [exampleOf(Session)] },
  async handle({ db, config: { reauthenticationMinutes: minutes }, caller }) {
    const rows = await listSessions(db, caller.userId);
    return rows.map((row) =>
      present(Session, row, {
        current: row.id === caller.sessionId,
        freshUntil:
          minutes === 0 ? null : new Date(row.proved_at.getTime() + minutes * 60_000).toISOString(),
      }),
    );
  },
});

const endMySession = endpoint({
  id: 'endMySession',
  method: 'DELETE',
  path: '/users/@me/sessions/{id}',
  summary: 'End one session of the logged-in user',
  description:
    'Clears the cookie if it is the session of this request. RESOURCE_NOT_FOUND: the user ' +
    'has no such session.',
  access: 'session',
  params: ById,
  response: z.object({ success: z.literal(true), message: z.string() }),
  problems: ['RESOURCE_NOT_FOUND'],
  example: { response: { success: true, message: 'The session has ended.' } },
  async handle({ db, config, caller, params: { id }, note }) {
    await transact(db, async (tx) => {
      const isEnded = await deleteSession(tx, caller.userId, id);
      if (!isEnded) {
        throw new Problem('RESOURCE_NOT_FOUND', { details: { resource: 'session', id } });
      }
      const target = { type: 'session', id };
      await note({ event: 'session.ended', target, details: { sessionId: id } }, tx);
    });
    const headers = id === caller.sessionId ? { 'Set-Cookie': endSession(config) } : {};
    return answer({ success: true as const, message: 'The session has ended.' }, { headers });
  },
});

const endOtherSessions = endpoint({
  id: 'endMyOtherSessions',
  method: 'DELETE',
  path: '/users/@me/sessions',
  summary: 'End all sessions of the logged-in user but this one',
  description: '`ended` is their number.',
  access: 'session',
  response: z.object({ success: z.literal(true), ended: z.int() }),
  example: { response: { success: true, ended: 2 } },
  async handle({ db, caller, note }) {
    return transact(db, async (tx) => {
      const ended = await deleteOtherSessions(tx, caller.userId, caller.sessionId);
      await note({ event: 'session.ended', details: { ended: String(ended) } }, tx);
      return { success: true as const, ended };
    });
  },
});

export const sessionEndpoints = [listMySessions, endMySession, endOtherSessions];
