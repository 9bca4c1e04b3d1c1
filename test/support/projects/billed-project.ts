import { randomUUID } from 'node:crypto';
import { sql } from 'kysely';
import { useApi, type TestAnswer, type TestApi } from '../api.ts';
import { type FakeStripe, useFakeStripe } from '../fakes/stripe.ts';
import { newAddress } from './shop.ts';
import { writeMail } from '../mail-tables.ts';

interface Columns {
  customer?: string;
  subscription?: string;
  billing_limit_transactional?: number;
  billing_limit_workflows?: number;
  disabled_reason?: string;
}

/** A project with a verified domain, and its administrator's requests about billing. */
export interface BilledProject {
  id: string;
  publicKey: string;
  secretKey: string;
  /** Session cookie of its administrator. */
  cookie: string;
  email: string;
  /** A usable sender. */
  from: string;
  get(what: string): Promise<TestAnswer>;
  /** Sets billing limits. */
  put(body: object): Promise<TestAnswer>;
  post(what: string): Promise<TestAnswer>;
  /** Requests `/v1/send`, by default to a new address. */
  send(to?: unknown, more?: object): Promise<TestAnswer>;
}

/** The API with a payment provider and a free tier of ten messages a month. */
export interface Billing {
  api: TestApi;
  stripe: FakeStripe;
  /** Creates a project. `columns` are set directly in the database. */
  billedProject(columns?: Columns, on?: TestApi): Promise<BilledProject>;
  set(projectId: string, columns: Columns, on?: TestApi): Promise<void>;
  /** Inserts this number of sent messages into the database. */
  sent(projectId: string, count: number, source?: string, on?: TestApi): Promise<unknown>;
}

/** The columns of a project with a subscription. */
export const subscribed = { customer: 'cus_1', subscription: 'sub_1' };

export async function useBilling(): Promise<Billing> {
  const stripe = await useFakeStripe();
  const api = await useApi({ ...stripe.environment, FREE_TIER_EMAILS_PER_MONTH: '10' });
  const set: Billing['set'] = async (id, columns, on = api) => {
    if (Object.keys(columns).length === 0) return;
    await on.db.updateTable('project').set(columns).where('id', '=', id).execute();
  };
  return {
    api,
    stripe,
    set,
    async billedProject(columns = {}, on = api) {
      const { cookie, email } = await on.signUp();
      const project = await on.createProject(cookie);
      const domain = `${randomUUID()}.test`;
      await on.request('POST', '/domains', { key: project.secretKey, body: { domain } });
      await set(project.id, columns, on);
      const path = `/users/@me/projects/${project.id}`;
      const mail = { from: `team@${domain}`, subject: 'Hi', body: 'Hi' };
      return {
        ...project,
        cookie,
        email,
        from: mail.from,
        get: (what) => on.request('GET', `${path}/${what}`, { cookie }),
        put: (body) => on.request('PUT', `${path}/billing-limits`, { cookie, body }),
        post: (what) => on.request('POST', `${path}/${what}`, { cookie }),
        send: (to = newAddress(), more = {}) =>
          on.request('POST', '/v1/send', {
            key: project.secretKey,
            body: { ...mail, to, ...more },
          }),
      };
    },
    sent: (projectId, count, source = 'CAMPAIGN', on = api) =>
      writeMail(on.db, (tx) =>
        sql`
        with someone as (
          insert into contact (project_id, email, subscribed)
            values (${projectId}, gen_random_uuid() || '@people.test', true) returning id
        )
        insert into email (project_id, contact_id, to_email, subject, from_email, message_class,
            source_type, status, sent_at)
          select ${projectId}, someone.id, 'a@people.test', '', 'a@b.test', 'MARKETING', ${source},
              'SENT', now()
            from someone, generate_series(1, ${count}::int)`.execute(tx),
      ),
  };
}
