import { newAddress } from './shop.ts';
import type { Engine } from '../engine.ts';
import { waitFor } from '../wait-for.ts';

interface LogLine {
  action: string;
  topic: string | null;
  source: string;
  [field: string]: unknown;
}

/** Returns functions for double opt-in: request it, read the mail, open its link. */
export function optInsOf(engine: Engine) {
  const { call, api, project } = engine;
  const contact = async (email: string) =>
    (await call('GET', `/contacts?email=${encodeURIComponent(email)}`)).body.data[0];
  const idOf = async (email: string): Promise<string> => (await contact(email)).id;
  /** Returns the mails to an address, oldest first, as the mailbox shows them. */
  const mails = async (email: string, count: number) => {
    const listed = await engine.mailsTo(email, count);
    return Promise.all(
      listed.map(async ({ id }) => (await api.request('GET', `/local/mailbox/${id}`)).body),
    );
  };
  const log = async (email: string) =>
    (await call('GET', `/contacts/${await idOf(email)}/consent`)).body as LogLine[];
  return {
    contact,
    idOf,
    mails,
    log,
    /** Requests an opt-in for a new contact. Returns the contact's address. */
    async asked(more: object = {}): Promise<string> {
      const email = newAddress();
      const { status, body } = await call('POST', '/contacts', { email, confirm: true, ...more });
      if (status !== 201) throw new Error(JSON.stringify(body));
      return email;
    },
    track: (email: string, more: object = {}, key = project.secretKey) =>
      api.request('POST', '/v1/track', { key, body: { email, event: 'seen', ...more } }),
    /** Returns the path of the link in the newest mail. */
    async link(email: string, count = 1): Promise<string> {
      const mail = (await mails(email, count)).at(-1);
      const path = /\/confirm\/[0-9a-f]{64}/.exec(mail.html)?.[0];
      if (!path) throw new Error(`There is no link in ${mail.html}`);
      return path;
    },
    open: (path: string) => api.request('GET', path),
    post: (path: string, headers: Record<string, string> = {}) =>
      api.request('POST', path, { headers }),
    /** Returns action and topic of each row of the consent log. */
    lines: async (email: string): Promise<string[]> =>
      (await log(email)).map(({ action, topic }) => `${action} ${topic}`),
    async events(email: string) {
      const rows = await api.db
        .selectFrom('event')
        .innerJoin('contact', 'contact.id', 'event.contact_id')
        .select(['event.name', 'event.data'])
        .where('contact.email', '=', email)
        .where('event.name', 'like', 'contact.%')
        .orderBy('event.recorded_at')
        .execute();
      return rows.map(({ name, data }) => [name, data]);
    },
    /** Returns the emails to an address, once `count` of them have their final status. */
    ended: (email: string, count: number) =>
      waitFor(`the end of ${count} mails`, async () => {
        const { body } = await call('GET', `/emails?contactId=${await idOf(email)}`);
        const over = body.data.filter(
          ({ status }: { status: string }) => !['PENDING', 'SENDING'].includes(status),
        );
        return over.length === count && over.toReversed();
      }),
    async setRequest(email: string, values: Record<string, unknown>): Promise<void> {
      await api.db.updateTable('opt_in').set(values).where('email', '=', email).execute();
    },
  };
}
