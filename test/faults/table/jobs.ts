import { sql } from 'kysely';
import { createCampaign } from '../../support/projects/campaigns.ts';
import { formWith } from '../../support/projects/upload.ts';
import type { PartMaker, Play } from './workload.ts';

/** Work on very many rows, and mail without a row, with its expected counts. */

const rowsOf = ({ recipients }: Play) => recipients * 10;

async function insertPeople(play: Play, subscribed: boolean): Promise<void> {
  const { world, mark } = play;
  await sql`
    insert into contact (project_id, email, subscribed, data)
      select ${world.engine.project.id}, ${`${mark}j-`}::text || n || '@people.test', ${subscribed},
          jsonb_build_object('mark', ${mark}::text)
        from generate_series(1, ${rowsOf(play)}::int) n`.execute(world.db);
}

/** Each contact has one event of the name: fewer are lost, more are duplicates. */
async function tallyEvents({ world, mark, ...play }: Play, name: string) {
  const { rows } = await sql<{ events: number; contacts: number }>`
    select count(*)::int as events, count(distinct contact_id)::int as contacts
      from event join contact on contact.id = event.contact_id
      where event.name = ${name} and contact.email like ${`${mark}j-%`}`.execute(world.db);
  const [{ events, contacts } = { events: 0, contacts: 0 }] = rows;
  const expected = rowsOf({ world, mark, ...play });
  return {
    lost: expected - contacts,
    duplicated: events - contacts,
    unknown: 0,
    wrong: [] as string[],
  };
}

async function pendingJob({ world }: Play, jobId: string): Promise<string | null> {
  const job = await world.db
    .selectFrom('job')
    .select(['state', 'position'])
    .where('id', '=', jobId)
    .executeTakeFirst();
  return job?.state === 'completed' ? null : `job ${job?.state} at ${job?.position}`;
}

/** An import that subscribes existing contacts. */
export const importing: PartMaker = async (play) => {
  const { world, mark } = play;
  await insertPeople(play, false);
  const lines = Array.from(
    { length: rowsOf(play) },
    (_, index) => `${mark}j-${index + 1}@people.test,yes`,
  );
  const key = world.engine.project.secretKey;
  let jobId = '';
  return {
    async begin() {
      const form = await formWith(['email,subscribed', ...lines].join('\n'));
      const { status, body } = await world.engine.api.request('POST', '/contacts/import', {
        key,
        ...form,
      });
      if (status !== 202) throw new Error(JSON.stringify(body));
      jobId = body.jobId;
    },
    pending: () => pendingJob(play, jobId),
    tally: () => tallyEvents(play, 'contact.subscribed'),
  };
};

/** A bulk action on existing contacts. */
export const bulk: PartMaker = async (play) => {
  const { world, mark } = play;
  await insertPeople(play, true);
  let jobId = '';
  return {
    async begin() {
      const action = { mode: 'query', filter: { search: `${mark}j-` } };
      const path = '/contacts/bulk-unsubscribe';
      const { status, body } = await world.ask('POST', path, action, `${mark}b`);
      if (status !== 202) throw new Error(JSON.stringify(body));
      jobId = body.jobId;
    },
    pending: () => pendingJob(play, jobId),
    tally: () => tallyEvents(play, 'contact.unsubscribed'),
  };
};

/** The deletion of a project with contacts. Remaining rows count as lost work. */
export const deletion: PartMaker = async (play) => {
  const { world, mark } = play;
  const { api } = world.engine;
  const { cookie } = await api.signUp();
  const { id } = await api.createProject(cookie, mark);
  await sql`
    insert into contact (project_id, email, subscribed)
      select ${id}, ${`${mark}d-`}::text || n || '@people.test', true
        from generate_series(1, ${rowsOf(play)}::int) n`.execute(world.db);
  const countRows = async () => {
    const { rows } = await sql<{ contacts: number; projects: number }>`
      select (select count(*)::int from contact where email like ${`${mark}d-%`}) as contacts,
          (select count(*)::int from project where name = ${mark}) as projects`.execute(world.db);
    return rows[0] ?? { contacts: 0, projects: 0 };
  };
  return {
    async begin() {
      const { status, body } = await api.request('DELETE', `/users/@me/projects/${id}`, { cookie });
      if (status !== 200) throw new Error(JSON.stringify(body));
    },
    async pending() {
      const { contacts, projects } = await countRows();
      return contacts + projects === 0 ? null : `${contacts} contacts, ${projects} projects`;
    },
    async tally() {
      const { contacts } = await countRows();
      return { lost: contacts, duplicated: 0, unknown: 0, wrong: [] };
    },
  };
};

const testMails = 20;

/**
 * Test mails of a campaign, whose rows are deleted afterwards. An interrupted one is given up
 * with a log entry, and counts as unknown.
 */
export const systemMail: PartMaker = async (play) => {
  const { world, mark } = play;
  const id = await createCampaign(world.engine, { audienceType: 'ALL' });
  const addresses = Array.from({ length: testMails }, (_, n) => `${mark}t-${n}@people.test`);
  const linesBefore = countGivenUp(play);
  return {
    async begin() {
      await Promise.all(
        addresses.map((email) =>
          world.ask('POST', `/campaigns/${id}/test`, { email }, `${mark}t${email}`),
        ),
      );
    },
    async pending() {
      const { rows } = await sql<{ count: number }>`
        select count(*)::int as count from system_mail
          where to_email like ${`${mark}t-%`}`.execute(world.db);
      return rows[0]?.count ? `${rows[0].count} test mails` : null;
    },
    async tally() {
      const counts = addresses.map((address) => world.sink.counts.get(address) ?? 0);
      const unknown = countGivenUp(play) - linesBefore;
      return {
        lost: Math.max(0, counts.filter((count) => count === 0).length - unknown),
        duplicated: counts.reduce((sum, count) => sum + Math.max(0, count - 1), 0),
        unknown,
        wrong: [],
      };
    },
  };
};

const countGivenUp = ({ world }: Play) =>
  [...world.workerLines, ...world.workers.flatMap(({ lines }) => lines)].filter((line) =>
    line.includes('A mail was given up'),
  ).length;
