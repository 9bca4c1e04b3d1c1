import { randomUUID } from 'node:crypto';
import type { ContactRow } from '../../../db/contacts/contacts.ts';
import type { EmailRow } from '../../../db/emails/emails.ts';
import { useApi, type TestAnswer, type TestApi } from '../api.ts';

/** The API with a project that may send, and functions that read the rows of its requests. */
export interface Shop {
  api: TestApi;
  project: { id: string; publicKey: string; secretKey: string };
  /** Another project on the same server. */
  other: { id: string; publicKey: string; secretKey: string };
  /** A verified sender domain of the project. */
  domain: string;
  /** Sends a request with the project's secret key. */
  call(
    method: string,
    path: string,
    body?: unknown,
    headers?: Record<string, string>,
  ): Promise<TestAnswer>;
  /**
   * Sends `/v1/send` with a plain mail and the changes in `given`. Undefined fields are left out.
   */
  send(given: object, headers?: Record<string, string>): Promise<TestAnswer>;
  /** Sends `/v1/track` with an event and the changes in `given`. */
  track(given: object, headers?: Record<string, string>): Promise<TestAnswer>;
  /** Creates a template; returns its id. */
  createTemplate(given?: object): Promise<string>;
  contact(email: string): Promise<ContactRow | undefined>;
  /** Returns the mails to an address, oldest first. */
  emailsTo(email: string): Promise<EmailRow[]>;
  /** Returns names and data of the events of a contact, oldest first. */
  eventsOf(email: string): Promise<{ name: string; data: unknown }[]>;
}

/** Returns an unused address. */
export const newAddress = () => `${randomUUID()}@people.test`;

/** Starts the shop. `overrides` are environment variables by name. */
export async function useShop(overrides: Record<string, string> = {}): Promise<Shop> {
  const api = await useApi(overrides);
  const { cookie } = await api.signUp();
  const project = await api.createProject(cookie, 'My shop');
  const other = await api.createProject(cookie, 'Other shop');
  const domain = `${randomUUID()}.test`;
  const call: Shop['call'] = (method, path, body, headers = {}) =>
    api.request(method, path, { key: project.secretKey, body, headers });
  succeeded(await call('POST', '/domains', { domain }), 201);
  const { db } = api;
  return {
    api,
    project,
    other,
    domain,
    call,
    send: (given, headers) => {
      const mail = { from: `team@${domain}`, subject: 'Hello', body: '<p>Hello</p>' };
      return call('POST', '/v1/send', { ...mail, ...given }, headers);
    },
    track: (given, headers) => call('POST', '/v1/track', { event: 'clicked', ...given }, headers),
    async createTemplate(given = {}) {
      const template = {
        name: 'Template',
        subject: 'Template subject',
        body: '<p>Template body</p>',
        type: 'TRANSACTIONAL',
        from: `template@${domain}`,
      };
      const made = await call('POST', '/templates', { ...template, ...given });
      return succeeded(made, 201).body.id as string;
    },
    async contact(email) {
      const row = await db
        .selectFrom('contact')
        .selectAll()
        .where('project_id', '=', project.id)
        .where('email', '=', email)
        .executeTakeFirst();
      return row as ContactRow | undefined;
    },
    async emailsTo(email) {
      const rows = await db
        .selectFrom('email')
        .selectAll()
        .where('project_id', '=', project.id)
        .where('to_email', '=', email)
        .orderBy('id')
        .execute();
      return rows as unknown as EmailRow[];
    },
    eventsOf: (email) =>
      db
        .selectFrom('event')
        .innerJoin('contact', 'contact.id', 'event.contact_id')
        .select(['event.name', 'event.data'])
        .where('contact.project_id', '=', project.id)
        .where('contact.email', '=', email)
        .orderBy('event.recorded_at')
        .execute(),
  };
}

function succeeded(answer: TestAnswer, expected: number): TestAnswer {
  if (answer.status === expected) return answer;
  throw new Error(
    `Answered ${answer.status} instead of ${expected}: ${JSON.stringify(answer.body)}`,
  );
}

/**
 * Returns status and code of an error response, and the code of each invalid field, for
 * comparisons.
 */
export function refusal({ status, body }: TestAnswer) {
  const errors = (body.error?.errors ?? []) as { field: string; code: string }[];
  return [status, body.error?.code, ...errors.map(({ field, code }) => `${field} ${code}`)];
}
