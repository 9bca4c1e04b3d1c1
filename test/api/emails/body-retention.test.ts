import { randomUUID } from 'node:crypto';
import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import { recordDeliveryOutcomes } from '../../../db/transactions/mail/record-outcomes.ts';
import { writeMail } from '../../support/mail-tables.ts';
import { newAddress, useShop } from '../../support/projects/shop.ts';
import { tasksOf } from '../../support/sweep-now.ts';

const shop = await useShop();

/** Sends a mail with a file, and makes it that old. Returns its id. */
async function mailOf(days: number, status: 'DELIVERED' | 'PENDING'): Promise<string> {
  const { body } = await shop.send({
    to: newAddress(),
    subject: 'Hi',
    body: '<p>Hi</p>',
    attachments: [{ filename: 'a.txt', content: 'YQ==', contentType: 'text/plain' }],
  });
  const id = body.data.emails[0].email as string;
  const at = new Date(Date.now() - days * 86_400_000);
  // Ids begin with their time of creation.
  const aged = at.getTime().toString(16).padStart(12, '0') + id.replaceAll('-', '').slice(12);
  const { rows } = await writeMail(shop.api.db, (tx) =>
    sql<{ id: string }>`
    update email set id = ${aged}::uuid, created_at = ${at}, status = ${status},
        sent_at = ${status === 'PENDING' ? null : at}
      where id = ${id} returning id`.execute(tx),
  );
  await sql`update attachment set created_at = ${at} where id =
    (select (attachments -> 0 ->> 'attachmentId')::uuid from email where id = ${rows[0]!.id})
    `.execute(shop.api.db);
  return rows[0]!.id;
}

const bodyOf = async (id: string) => (await shop.call('GET', `/emails/${id}`)).body.body;
/** Counts the stored files of a mail: 1 or 0. */
async function fileOf(id: string): Promise<number> {
  const { rows } = await sql`select from attachment where id =
    (select (attachments -> 0 ->> 'attachmentId')::uuid from email where id = ${id})
    `.execute(shop.api.db);
  return rows.length;
}
/** Returns the items of a mail in the activity feed. */
const itemsOf = async (emailId: string) => {
  const { body } = await shop.call('GET', '/activity?startDate=2020-01-01');
  return body.data.filter(({ id }: { id: string }) => id.startsWith(emailId));
};
const clear = (bodyRetentionDays: number) =>
  tasksOf(shop.api, { bodyRetentionDays }).CLEAR_MAIL_BODIES();

describe('bodies of mail', () => {
  it('are removed with their files once they are older than they are kept', async () => {
    const old = await mailOf(91, 'DELIVERED');
    const unsent = await mailOf(91, 'PENDING');
    const young = await mailOf(89, 'DELIVERED');
    await clear(0);
    expect(await bodyOf(old)).toContain('<p>Hi</p>');
    expect(await itemsOf(old)).toMatchObject([
      { type: 'email.sent', metadata: { body: expect.stringContaining('Hi') } },
    ]);
    await clear(90);
    expect(await bodyOf(old)).toBeNull();
    // The activity feed keeps the event and its subject.
    expect(await itemsOf(old)).toMatchObject([
      { type: 'email.sent', metadata: { subject: 'Hi', body: null } },
    ]);
    expect(await bodyOf(young)).toContain('<p>Hi</p>');
    // An unsent message keeps its body and its file, or it would be sent with an empty one.
    expect(await bodyOf(unsent)).toContain('<p>Hi</p>');
    expect([await fileOf(old), await fileOf(young), await fileOf(unsent)]).toEqual([0, 1, 1]);
  });

  it('are removed with all old files, however many there are', async () => {
    await sql`insert into attachment (project_id, content, created_at)
      select ${shop.project.id}, '', now() - interval '91 days' from generate_series(1, 10_500)
      `.execute(shop.api.db);
    await clear(90);
    const { rows } = await sql`
      select from attachment where created_at < now() - interval '90 days' and content = ''
      `.execute(shop.api.db);
    expect(rows).toHaveLength(0);
  });

  it('are removed, too, of mail that waited for longer than that before it was sent', async () => {
    const id = await mailOf(91, 'PENDING');
    await clear(90);
    const attemptId = randomUUID();
    const { project_id: projectId } = await writeMail(shop.api.db, (tx) =>
      tx
        .updateTable('email')
        .set({
          status: 'SENDING',
          attempt_id: attemptId,
          attempts: 1,
          lease_until: new Date(Date.now() - 60_000),
        })
        .where('id', '=', id)
        .returning('project_id')
        .executeTakeFirstOrThrow(),
    );
    const accepted = { kind: 'accepted', messageId: id, delivered: true } as const;
    await recordDeliveryOutcomes(shop.api.db, {
      projectId,
      attemptIds: [attemptId],
      outcomes: [{ emailId: id, ...accepted }],
    });
    expect(await bodyOf(id)).toContain('<p>Hi</p>');
    await clear(90);
    expect([await bodyOf(id), await fileOf(id)]).toEqual([null, 0]);
  });
});

describe('bodies of scheduled mail', () => {
  it('are kept from the time for which it was asked, with their files', async () => {
    const scheduled = await mailOf(120, 'DELIVERED');
    const old = await mailOf(120, 'DELIVERED');
    const at = (days: number) => new Date(Date.now() - days * 86_400_000);
    const scheduleFor = async (id: string, time: Date) => {
      await sql`update email set scheduled_for = ${time} where id = ${id}`.execute(shop.api.db);
      await sql`update attachment set kept_from = ${time} where id =
        (select (attachments -> 0 ->> 'attachmentId')::uuid from email where id = ${id})
        `.execute(shop.api.db);
    };
    await scheduleFor(scheduled, at(80));
    await scheduleFor(old, at(100));
    await clear(90);
    expect(await bodyOf(scheduled)).toContain('<p>Hi</p>');
    expect(await bodyOf(old)).toBeNull();
    expect([await fileOf(scheduled), await fileOf(old)]).toEqual([1, 0]);
    await clear(70);
    expect([await bodyOf(scheduled), await fileOf(scheduled)]).toEqual([null, 0]);
  });
});
