import { randomUUID } from 'node:crypto';
import type { Insertable } from 'kysely';
import type { Database } from '../../../db/database.ts';
import type { DB } from '../../../db/tables.ts';

/** Rows of campaigns and mails, straight into the database: for tests of what follows a sending. */

type Fields<Table extends 'campaign' | 'email'> = Partial<Insertable<DB[Table]>>;

/** A campaign at work. Answers its id. */
export async function insertTestCampaign(
  db: Database,
  projectId: string,
  fields: Fields<'campaign'> = {},
): Promise<string> {
  const { id } = await db
    .insertInto('campaign')
    .values({
      project_id: projectId,
      name: 'News',
      subject: 'News',
      body: '<p>News</p>',
      from_email: 'team@shop.test',
      audience_type: 'ALL',
      message_class: 'MARKETING',
      status: 'SENDING',
      ...fields,
    })
    .returning('id')
    .executeTakeFirstOrThrow();
  return id;
}

/** A message that was sent, unless `fields` say otherwise. Answers its id. */
export async function insertTestEmail(
  db: Database,
  given: { projectId: string; contactId: string; campaignId?: string },
  fields: Fields<'email'> = {},
): Promise<string> {
  const { id } = await db
    .insertInto('email')
    .values({
      project_id: given.projectId,
      contact_id: given.contactId,
      campaign_id: given.campaignId ?? null,
      to_email: 'ada@x.example',
      subject: 'Hi Ada',
      body: '<p>Hi</p>',
      from_email: 'team@shop.test',
      from_name: 'The Shop',
      message_class: 'MARKETING',
      source_type: given.campaignId ? 'CAMPAIGN' : 'TRANSACTIONAL',
      status: 'SENT',
      message_id: randomUUID(),
      sent_at: new Date(),
      ...fields,
    })
    .returning('id')
    .executeTakeFirstOrThrow();
  return id;
}
