import { randomUUID } from 'node:crypto';
import { sql } from 'kysely';
import { expect, it } from 'vitest';
import { claimFreePort } from '../../../dev/servers/ports.ts';
import { useEngine } from '../../support/engine.ts';
import { deliveryStatus, type ReportedMail } from '../../support/fakes/reports.ts';
import { useTcpProxy } from '../../support/fakes/tcp-proxy.ts';
import { holdBackAt, holdBackCommits } from '../../support/held-insert.ts';
import { signedMessage } from '../../support/fakes/signed-message.ts';
import { sendBySmtp } from '../../support/projects/incoming.ts';
import { useApiProcess } from '../../support/processes/processes.ts';
import { insertTestEmail } from '../../support/projects/mails.ts';
import { databaseBehind } from '../../support/servers.ts';
import { atEnd } from '../../support/use.ts';
import { waitFor } from '../../support/wait-for.ts';

/** Reports that arrive while the process that takes them dies, or has no database. */

const domain = 'bounces.everpost.test';
const secret = 'a secret of the hook';
const engine = await useEngine({ AUTO_PROJECT_DISABLE: 'false' }, { worker: false });
const { db } = engine.api;
const { port, release } = await claimFreePort();
atEnd(release);

const start = (more: Record<string, string> = {}) =>
  useApiProcess(engine, {
    AUTO_PROJECT_DISABLE: 'false',
    INBOUND_SMTP_HOST: '127.0.0.1',
    INBOUND_SMTP_PORT: String(port),
    INBOUND_MIME_SECRET: secret,
    RETURN_PATH_DOMAIN: domain,
    ...more,
  });

async function sentMail(): Promise<ReportedMail> {
  const { id: projectId } = await db.selectFrom('project').select('id').executeTakeFirstOrThrow();
  const to = `${randomUUID()}@mail.test`;
  const { id: contactId } = await db
    .insertInto('contact')
    .values({ project_id: projectId, email: to, subscribed: true })
    .returning('id')
    .executeTakeFirstOrThrow();
  const emailId = await insertTestEmail(db, { projectId, contactId });
  return { emailId, to, returnPath: engine.services.returnPaths.pathAt(emailId, domain) };
}

const bounces = async ({ emailId }: ReportedMail) => {
  const { rows } = await sql<{ status: string; events: number; entries: number }>`
    select status, (select count(*)::int from event where email_id = email.id) as events,
        jsonb_array_length(jsonb_path_query_array(trace, '$[*] ? (@.state == "bounced")')) as entries
      from email where id = ${emailId}`.execute(db);
  return rows[0];
};
const bouncedOnce = { status: 'BOUNCED', events: 1, entries: 1 };
const bySmtp = (mail: ReportedMail, raw: string) => sendBySmtp(port, raw, { to: mail.returnPath });

it('a receiver that dies before the commit has taken nothing: the repeat counts', async () => {
  const [api, mail] = [await start(), await sentMail()];
  const raw = deliveryStatus(mail);
  const hold = await holdBackAt(db, sql`insert on report_receipt for each row`);
  const sending = bySmtp(mail, raw).catch((error: Error) => error);
  await hold.isReached();
  await api.kill();
  await hold.release();
  expect(await sending).toBeInstanceOf(Error);
  expect(await bounces(mail)).toMatchObject({ status: 'SENT', events: 0 });
  await start();
  await bySmtp(mail, raw);
  expect(await bounces(mail)).toEqual(bouncedOnce);
});

it('a receiver that dies between the commit and its reply counts the report once', async () => {
  const [api, mail] = [await start(), await sentMail()];
  const raw = deliveryStatus(mail);
  const hold = await holdBackCommits(db, 'report_receipt');
  const sending = bySmtp(mail, raw).catch((error: Error) => error);
  await hold.isReached();
  // Released at once: PostgreSQL cancels a commit that waits longer than a statement may.
  await Promise.all([api.kill(), hold.release()]);
  expect(await sending).toBeInstanceOf(Error);
  await waitFor('the commit', async () => (await bounces(mail))?.status === 'BOUNCED');
  await start();
  await bySmtp(mail, raw);
  expect(await bounces(mail)).toEqual(bouncedOnce);
});

it('without its database asks for another try, by SMTP with 451 and at the hook with 503', async () => {
  const url = engine.api.services.config.databaseUrl;
  const { host } = new URL(url);
  const line = await useTcpProxy(host);
  const api = await start({
    DATABASE_URL: databaseBehind(line.address, url),
    DATABASE_CONNECTION_TIMEOUT_MS: '2000',
  });
  const [first, second] = [await sentMail(), await sentMail()];
  const post = (mail: ReportedMail) =>
    fetch(`${api.url}/webhooks/incoming/mime`, {
      method: 'POST',
      ...signedMessage(secret, deliveryStatus(mail), mail.returnPath),
    });
  line.mode = 'closed';
  line.cut();
  await expect(bySmtp(first, deliveryStatus(first))).rejects.toMatchObject({ responseCode: 451 });
  expect((await post(second)).status).toBe(503);
  line.mode = 'open';
  await bySmtp(first, deliveryStatus(first));
  expect(await (await post(second)).json()).toEqual({ success: true, result: 'report' });
  for (const mail of [first, second]) expect(await bounces(mail)).toEqual(bouncedOnce);
});
