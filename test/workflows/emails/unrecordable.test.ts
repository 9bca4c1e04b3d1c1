import { randomUUID } from 'node:crypto';
import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import { recordDeliveryOutcomes } from '../../../db/transactions/mail/record-outcomes.ts';
import type { Mailer } from '../../../providers/mail/mailer.ts';
import { useEngine } from '../../support/engine.ts';
import { createContact } from '../../support/histories/executions.ts';
import { newAddress } from '../../support/projects/shop.ts';
import {
  chunkOrigin,
  deliverDue,
  insertDueEmail,
  insertTestCampaign,
} from '../../support/projects/mails.ts';
import { writeMail } from '../../support/mail-tables.ts';

/** Mail whose row has changed before its outcome is recorded. */

const engine = await useEngine({}, { worker: false });

const warnings: object[] = [];

/** Delivers due mail with a provider that responds with `send`. */
const deliver = (send: Mailer['send']) =>
  deliverDue(engine, {
    mailer: { ...engine.services.mailer, send },
    log: { warn: (details: object) => void warnings.push(details) },
  });

const rowOf = (id: string) =>
  engine.api.db
    .selectFrom('email')
    .select(['status', 'message_id', 'trace', 'lease_until'])
    .where('id', '=', id)
    .executeTakeFirst();

const accepted = (messageId: string) =>
  Promise.resolve({ kind: 'accepted' as const, messageId, delivered: true });

describe('a batch in which the database refuses one outcome', () => {
  it('records the others, and that one without what is refused', async () => {
    const contact = await createContact(engine, newAddress());
    const ids: string[] = [];
    for (let count = 0; count < 7; count += 1) ids.push(await insertDueEmail(engine, contact));
    const twice = randomUUID();
    // Two messages cannot have one id of the provider.
    await deliver(({ emailId }) => accepted(ids.slice(2, 4).includes(emailId) ? twice : emailId));
    const rows = await Promise.all(ids.map(rowOf));
    expect(rows.map((row) => row?.status)).toEqual(ids.map(() => 'DELIVERED'));
    const named = rows.filter((row) => row?.message_id === twice);
    const unnamed = rows.filter((row) => row?.message_id === null);
    expect([named.length, unnamed.length]).toEqual([1, 1]);
    expect(warnings).toHaveLength(1);
  });

  it('leaves one of which nothing can be recorded to the settle time, and says so', async () => {
    const { db } = engine.api;
    const contact = await createContact(engine, newAddress());
    const [good, bad] = [
      await insertDueEmail(engine, contact),
      await insertDueEmail(engine, contact),
    ];
    await sql`create function refuse() returns trigger language plpgsql as
      $$ begin raise exception 'no' using errcode = '22000'; end $$`.execute(db);
    await sql`create trigger refuse before update on email for each row
      when (old.id = ${sql.lit(bad)} and old.status = 'SENDING')
      execute function refuse()`.execute(db);
    warnings.length = 0;
    try {
      await deliver(({ emailId }) => accepted(emailId));
    } finally {
      await sql`drop function refuse cascade`.execute(db);
    }
    expect((await rowOf(good))?.status).toBe('DELIVERED');
    const left = await rowOf(bad);
    expect(left?.status).toBe('SENDING');
    expect(left?.lease_until).not.toBeNull();
    // Completely; without its id; and as unknown.
    expect(warnings).toMatchObject([1, 2, 3].map(() => ({ emailId: bad })));
  });
});

describe('mail whose contact is deleted while it is handed over', () => {
  it('is billed, and counts towards what its project may send', async () => {
    const { db } = engine.api;
    const { id: projectId } = engine.project;
    await db
      .updateTable('project')
      .set({ customer: 'cus_1' })
      .where('id', '=', projectId)
      .execute();
    const month = sql<Date>`date_trunc('month', now() at time zone 'UTC')::date`;
    await db
      .insertInto('allowance')
      .values({ project_id: projectId, month, category: 'transactional', taken: 5 })
      .execute();
    const contact = await createContact(engine, newAddress());
    const id = await insertDueEmail(engine, contact);
    await writeMail(db, (tx) =>
      tx.updateTable('email').set({ allowance_month: month }).where('id', '=', id).execute(),
    );
    await deliver(async ({ emailId }) => {
      const gone = await engine.call('DELETE', `/contacts/${contact}`);
      expect(gone.status).toBe(204);
      return accepted(emailId);
    });
    expect(await rowOf(id)).toBeUndefined();
    const reports = await db
      .selectFrom('usage_report')
      .select(['customer', 'units'])
      .where('email_id', '=', id)
      .execute();
    expect(reports).toEqual([{ customer: 'cus_1', units: 1 }]);
    const { taken } = await db
      .selectFrom('allowance')
      .select('taken')
      .where('project_id', '=', projectId)
      .executeTakeFirstOrThrow();
    expect(taken).toBe(5);
  });

  it('counts in its campaign', async () => {
    const { db } = engine.api;
    const { id: projectId } = engine.project;
    const campaignId = await insertTestCampaign(db, projectId);
    const emailId = randomUUID();
    await recordDeliveryOutcomes(db, {
      projectId,
      attemptIds: [randomUUID()],
      outcomes: [{ emailId, kind: 'accepted', messageId: emailId, delivered: true }],
      claimed: [{ id: emailId, source_type: 'CAMPAIGN', billed_units: 1, allowance_month: null }],
      campaign: { id: campaignId, pauseOnFailures: 100, chunk: chunkOrigin(randomUUID()) },
    });
    const counts = await db
      .selectFrom('campaign')
      .select(['sent_count', 'delivered_count'])
      .where('id', '=', campaignId)
      .executeTakeFirst();
    expect(counts).toEqual({ sent_count: 1, delivered_count: 1 });
  });
});
