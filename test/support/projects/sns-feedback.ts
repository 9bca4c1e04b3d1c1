import { randomUUID } from 'node:crypto';
import type { Selectable } from 'kysely';
import type { DB } from '../../../db/tables.ts';
import { useApi, type TestAnswer, type TestApi } from '../api.ts';
import { type FakeSns, useFakeSns } from '../fakes/sns.ts';
import { insertTestEmail } from './mails.ts';

type Row<Table extends 'contact' | 'email' | 'campaign'> = Promise<Selectable<DB[Table]>>;

/**
 * The API with a project about whose mail SNS reports, and functions that read the rows of the
 * reports.
 */
export interface SnsFeedback {
  api: TestApi;
  fake: FakeSns;
  project: { id: string; secretKey: string };
  /** Posts a body as SNS does. */
  post(body: unknown, path?: string): Promise<TestAnswer>;
  /** Posts a signed notification of the message. */
  notify(message: unknown): Promise<TestAnswer>;
  /** Inserts a sent message to a new contact. */
  sentEmail(
    fields?: Parameters<typeof insertTestEmail>[2],
    campaignId?: string,
  ): Promise<{ id: string; contactId: string }>;
  contactOf(id: string): Row<'contact'>;
  emailOf(id: string): Row<'email'>;
  campaignOf(id: string): Row<'campaign'>;
  /** Returns the events of a contact, oldest first. */
  eventsOf(
    contactId: string,
  ): Promise<Pick<Selectable<DB['event']>, 'name' | 'data' | 'email_id'>[]>;
  namesOf(contactId: string): Promise<string[]>;
  /** Returns the trace of a message: states with their details. */
  traceOf(id: string): Promise<[state: string, detail: unknown][]>;
}

export async function useSnsFeedback(): Promise<SnsFeedback> {
  const fake = await useFakeSns();
  const api = await useApi();
  api.services.feedbackReaders = fake.feedbackReaders;
  const { db } = api;
  const project = await api.createProject((await api.signUp()).cookie);
  const post: SnsFeedback['post'] = (body, path = '/webhooks/sns') =>
    api.request('POST', path, {
      body: JSON.stringify(body),
      // The content type that SNS sends.
      headers: { 'Content-Type': 'text/plain; charset=UTF-8' },
    });
  const emailOf: SnsFeedback['emailOf'] = (id) =>
    db.selectFrom('email').selectAll().where('id', '=', id).executeTakeFirstOrThrow();
  const eventsOf: SnsFeedback['eventsOf'] = (contactId) =>
    db
      .selectFrom('event')
      .select(['name', 'data', 'email_id'])
      .where('contact_id', '=', contactId)
      .orderBy('recorded_at')
      .execute();
  return {
    api,
    fake,
    project,
    post,
    notify: (message) => post(fake.notification(message)),
    async sentEmail(fields = {}, campaignId) {
      const email = `${randomUUID()}@x.example`;
      const made = await api.request('POST', '/contacts', {
        key: project.secretKey,
        body: { email },
      });
      const contactId = made.body.id as string;
      const given = { projectId: project.id, contactId, ...(campaignId ? { campaignId } : {}) };
      const id = await insertTestEmail(db, given, { to_email: email, ...fields });
      return { id, contactId };
    },
    contactOf: (id) =>
      db.selectFrom('contact').selectAll().where('id', '=', id).executeTakeFirstOrThrow(),
    emailOf,
    campaignOf: (id) =>
      db.selectFrom('campaign').selectAll().where('id', '=', id).executeTakeFirstOrThrow(),
    eventsOf,
    namesOf: async (contactId) => (await eventsOf(contactId)).map(({ name }) => name),
    async traceOf(id) {
      const { trace } = await emailOf(id);
      return (trace as unknown as { state: string; detail: unknown }[]).map(({ state, detail }) => [
        state,
        detail,
      ]);
    },
  };
}
