import { randomUUID } from 'node:crypto';
import { sql } from 'kysely';
import type { TestAnswer } from '../api.ts';
import { newAddress, type Shop, useShop } from './shop.ts';
import { writeMail } from '../mail-tables.ts';

/** A shop whose rows are inserted into the database for tests of the activity feed. */
export interface ActivityShop {
  shop: Shop;
  get(path: string): Promise<TestAnswer['body']>;
  /** The contact to which the rows belong. */
  contact: { id: string; email: string };
  insertEmail(given?: object): Promise<string>;
  insertCampaign(given?: object): Promise<string>;
  /** Inserts an execution of the contact, in a workflow with these steps. */
  insertExecution(given?: object, steps?: object[]): Promise<string>;
  /** Deletes all rows except the contact. */
  clear(): Promise<unknown>;
}

export async function useActivityShop(): Promise<ActivityShop> {
  const shop = await useShop();
  const email = newAddress();
  const made = await shop.call('POST', '/contacts', { email });
  const contact = { id: made.body.id as string, email };
  const { db } = shop.api;
  const project = { project_id: shop.project.id };
  return {
    shop,
    contact,
    get: async (path) => (await shop.call('GET', path)).body,
    clear: () =>
      sql`truncate event, event_tally, conversion, email, email_moment, email_queue, late_mail, provider_message, email_tally, campaign, workflow cascade`.execute(
        db,
      ),
    async insertEmail(given = {}) {
      const { id } = await writeMail(db, (tx) =>
        tx
          .insertInto('email')
          .values({
            ...project,
            contact_id: contact.id,
            to_email: contact.email,
            subject: 'Hi Ada',
            body: '<p>Hi</p>',
            from_email: 'team@shop.example',
            from_name: 'The Shop',
            message_class: 'TRANSACTIONAL',
            source_type: 'TRANSACTIONAL',
            ...given,
          })
          .returning('id')
          .executeTakeFirstOrThrow(),
      );
      return id;
    },
    async insertCampaign(given = {}) {
      const { id } = await db
        .insertInto('campaign')
        .values({
          ...project,
          name: 'Spring sale',
          subject: '20% off',
          body: 'b',
          from_email: 'a@x.example',
          audience_type: 'ALL',
          message_class: 'MARKETING',
          total_recipients: 4,
          ...given,
        })
        .returning('id')
        .executeTakeFirstOrThrow();
      return id;
    },
    async insertExecution(given = {}, steps = []) {
      const workflowId = randomUUID();
      await db
        .insertInto('workflow')
        .values({ ...project, id: workflowId, name: 'Welcome' })
        .execute();
      const version = { workflow_id: workflowId, version: 1 };
      const graph = JSON.stringify({ steps, transitions: [] });
      await db
        .insertInto('workflow_version')
        .values({ ...project, ...version, graph })
        .execute();
      const { id } = await db
        .insertInto('execution')
        .values({
          ...project,
          workflow_id: workflowId,
          workflow_version: 1,
          workflow_name: 'Welcome',
          contact_id: contact.id,
          ...given,
        })
        .returning('id')
        .executeTakeFirstOrThrow();
      return id;
    },
  };
}
