import { randomUUID } from 'node:crypto';
import { MockActivityEnvironment } from '@temporalio/testing';
import { type KyselyPlugin, sql } from 'kysely';
import { beforeEach, expect, it } from 'vitest';
import { createSystemMailActivities } from '../../../activities/mail/system-mail.ts';
import type { Database } from '../../../db/database.ts';
import { readCircuit, recordProviderFailures } from '../../../db/delivery/provider-circuit.ts';
import {
  claimSystemMail,
  insertSystemMail,
  type NewSystemMail,
  releaseSystemMail,
} from '../../../db/emails/system-mail.ts';
import { providerFailuresMax } from '../../../domain/runs/retry.ts';
import { guarded } from '../../../providers/mail/guarded-mailer.ts';
import { smtpMailer } from '../../../providers/mail/smtp/mailer.ts';
import { useApi } from '../../support/api.ts';
import { useSmtpSink } from '../../support/fakes/smtp-sink.ts';
import { use } from '../../support/use.ts';

/** System mail, while the database fails at bad moments. */

/** The number of further mails that the server refuses with "try again later". */
let busyFor = 0;
let logged: { details: object; message: string }[] = [];
const api = await useApi();
const sink = await useSmtpSink({ refuseTo: () => (busyFor-- > 0 ? 450 : null) });
const smtp = { host: '127.0.0.1', port: sink.port, secure: false };
const mailer = use(guarded(smtpMailer(smtp)));
beforeEach(() => {
  busyFor = 0;
  logged = [];
});

async function insertMail(
  kind: Pick<NewSystemMail, 'kind' | 'project_id'> = { kind: 'platform-mail', project_id: null },
) {
  const to = `${randomUUID()}@people.test`;
  await insertSystemMail(api.db, {
    ...(kind as { kind: 'platform-mail'; project_id: null }),
    to_email: to,
    from_email: 'us@everpost.test',
    from_name: 'Everpost',
    reply_to: null,
    subject: 'Your new password',
    html: '<p>Hi</p>',
  });
  const { id } = await api.db
    .selectFrom('system_mail')
    .select('id')
    .where('to_email', '=', to)
    .executeTakeFirstOrThrow();
  return { id, to };
}

/** Makes one attempt, as a worker does. */
function attempt(
  mailId: string,
  db: Database = api.db,
  rates = { perSecond: 0, perProjectPerSecond: 0 },
) {
  const log = {
    warn: (details: object, message: string) => void logged.push({ details, message }),
  };
  const returnPaths = { pathOf: () => 'bounce@everpost.test' };
  const { mailPool } = api.services;
  const sending = { db, mailer, mailPool, routes: [], rates, returnPaths };
  const services = { ...sending, retryMs: 86_400_000, log };
  const { SEND_SYSTEM_MAIL } = createSystemMailActivities(services);
  return new MockActivityEnvironment().run(SEND_SYSTEM_MAIL, { mailId });
}

/** Returns a database that commits the nth change of a mail but loses its response. */
function losingAnswer(nth: number): Database {
  const changes = new WeakSet();
  let seen = 0;
  const plugin: KyselyPlugin = {
    transformQuery({ node, queryId }) {
      const isChange = node.kind !== 'SelectQueryNode';
      if (isChange && JSON.stringify(node).includes('attempt_id')) changes.add(queryId);
      return node;
    },
    async transformResult({ result, queryId }) {
      if (changes.has(queryId) && (seen += 1) === nth) throw new Error('Connection lost');
      return result;
    },
  };
  return api.db.withPlugin(plugin);
}

const rowOf = (id: string) =>
  api.db
    .selectFrom('system_mail')
    .select(['attempts', 'attempt_id'])
    .where('id', '=', id)
    .executeTakeFirst();

it('is sent once when the answer to its claim is lost, and its attempt counts once', async () => {
  const { id, to } = await insertMail();
  busyFor = 1;
  expect(await attempt(id, losingAnswer(1))).toEqual({ retryMs: 2_000 });
  expect(await rowOf(id)).toEqual({ attempts: 1, attempt_id: null });
  expect(await attempt(id, losingAnswer(1))).toEqual({ retryMs: null });
  expect(sink.countTo(to)).toBe(1);
  expect(await rowOf(id)).toBeUndefined();
});

it('is tried again when the database fails as it is released', async () => {
  const { id, to } = await insertMail();
  busyFor = 1;
  expect(await attempt(id, losingAnswer(2))).toEqual({ retryMs: 2_000 });
  expect(await attempt(id)).toEqual({ retryMs: null });
  expect(sink.countTo(to)).toBe(1);
});

it('is released although the database refuses that at first', async () => {
  const { id, to } = await insertMail();
  // A sequence keeps its value when its transaction is rolled back.
  await sql`create sequence refusals`.execute(api.db);
  await sql`create function refuse_once() returns trigger language plpgsql as $$
    begin
      if nextval('refusals') = 1 then raise 'no'; end if;
      return new;
    end $$`.execute(api.db);
  await sql`create trigger refuse_once before update on system_mail for each row
    when (new.attempt_id is null) execute function refuse_once()`.execute(api.db);
  busyFor = 1;
  expect(await attempt(id)).toEqual({ retryMs: 2_000 });
  await sql`drop trigger refuse_once on system_mail`.execute(api.db);
  expect(await rowOf(id)).toEqual({ attempts: 1, attempt_id: null });
  expect(await attempt(id)).toEqual({ retryMs: null });
  expect(sink.countTo(to)).toBe(1);
});

it('does not leave after an attempt that was cut short, and the log says so', async () => {
  const { id, to } = await insertMail();
  await claimSystemMail(api.db, id, randomUUID());
  expect(await attempt(id)).toEqual({ retryMs: null });
  expect(sink.countTo(to)).toBe(0);
  expect(await rowOf(id)).toBeUndefined();
  expect(logged).toEqual([
    {
      details: { mailId: id, kind: 'platform-mail', attempt: 1 },
      message:
        'A mail is not tried again: an attempt was interrupted, and the mail may have been sent',
    },
  ]);
});

it('is not released by an attempt that does not have it', async () => {
  const { id } = await insertMail();
  const attemptId = randomUUID();
  await claimSystemMail(api.db, id, attemptId);
  await releaseSystemMail(api.db, id, randomUUID());
  expect(await rowOf(id)).toEqual({ attempts: 1, attempt_id: attemptId });
});

it('is tried for a day when it cannot be composed, and then given up with a line in the log', async () => {
  const { id, to } = await insertMail();
  // No stored value is known to cause that.
  const spoilt = api.db.withPlugin({
    transformQuery: ({ node }) => node,
    transformResult: async ({ result }) => ({
      ...result,
      rows: result.rows.map((row) => ('html' in row ? { ...row, from_email: null } : row)),
    }),
  });
  expect(await attempt(id, spoilt)).toEqual({ retryMs: 2_000 });
  expect(await attempt(id, spoilt)).toEqual({ retryMs: 4_000 });
  const dayAgo = new Date(Date.now() - 86_400_000);
  await api.db
    .updateTable('system_mail')
    .set({ created_at: dayAgo })
    .where('id', '=', id)
    .execute();
  expect(await attempt(id, spoilt)).toEqual({ retryMs: null });
  expect(logged.map(({ message }) => message)).toEqual([
    'A mail could not be sent; it is tried again',
    'A mail could not be sent; it is tried again',
    'A mail was given up',
  ]);
  expect([sink.countTo(to), await rowOf(id)]).toEqual([0, undefined]);
});

it('does not send the test of a campaign whose domain is not verified any more', async () => {
  const { id: projectId } = await api.createProject((await api.signUp()).cookie);
  const ofProject = {
    kind: 'campaign-test',
    project_id: projectId,
    message_class: 'MARKETING',
  } as const;
  const domain = { project_id: projectId, name: 'everpost.test', status: 'verified' };
  await api.db
    .insertInto('domain')
    .values({ ...domain, dkim_tokens: [] })
    .execute();
  const sent = await insertMail(ofProject);
  await attempt(sent.id);
  await api.db
    .updateTable('domain')
    .set({ status: 'failed' })
    .where('project_id', '=', projectId)
    .execute();
  const refused = await insertMail(ofProject);
  expect(await attempt(refused.id)).toEqual({ retryMs: null });
  expect(logged.map(({ message }) => message)).toEqual([
    'A campaign test was not sent: the sender domain is not verified',
  ]);
  const received = sink.messages.map(({ to }) => to);
  expect(received.includes(sent.to)).toBe(true);
  expect(received.includes(refused.to)).toBe(false);
});

it('lets others try a closed provider when its attempt fails before the mail is sent', async () => {
  const { id, to } = await insertMail();
  const failures = { count: providerFailuresMax, isProbe: false, hasAccepted: false };
  await recordProviderFailures(api.db, mailer.provider, failures);
  const isDue = async () => (await readCircuit(api.db, mailer.provider)).waitMs === 0;
  await sql`update provider_circuit set next_probe_at = now() - interval '1 minute'`.execute(
    api.db,
  );
  await sql`alter table token_bucket rename to elsewhere`.execute(api.db);
  const rates = { perSecond: 100, perProjectPerSecond: 100 };
  await expect(attempt(id, api.db, rates)).rejects.toThrow('token_bucket');
  await sql`alter table elsewhere rename to token_bucket`.execute(api.db);
  expect(await isDue()).toBe(true);
  expect(await attempt(id, api.db, rates)).toEqual({ retryMs: null });
  expect(sink.countTo(to)).toBe(1);
  expect((await readCircuit(api.db, mailer.provider)).waitMs).toBeNull();
});
