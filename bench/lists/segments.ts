import type { Pool } from 'pg';
import type { Benchmark } from '../measuring/benchmark.ts';
import { figure, median, printTable } from '../measuring/numbers.ts';
import { createProject, type Project } from '../measuring/project.ts';
import { type Stack, stackOptions, startStack } from '../measuring/stack.ts';
import { followInsertedMail } from '../measuring/inserted-mail.ts';

/**
 * Counting and computing segments through the API, compared with hand-written SQL for the same
 * condition. The results must be equal.
 */
export const segments: Benchmark = {
  summary: 'counting and computing segments of many contacts, against hand-written SQL',
  options: {
    contacts: '1000000',
    /** Contacts that enter and leave in one computation. */
    changes: '100000',
    rounds: '5',
    ...stackOptions,
  },
  async run(run) {
    const stack = await startStack(run);
    const { apiUrl, pool } = stack;
    const project = await createProject(apiUrl);
    const contacts = run.count('contacts');
    await fill(stack, project, contacts);
    console.log(`${contacts} contacts, as many events and mails; milliseconds\n`);
    const rows: string[][] = [];
    const add = (name: string, rounds: readonly Round[]) => void rows.push(rowOf(name, rounds));
    const rounds = run.count('rounds');
    for (const [name, subject] of Object.entries(counts)) {
      add(`count: ${name}`, await measureCount(pool, project, subject, rounds));
    }
    const computation = await prepareComputation(pool, project);
    add('compute: nobody comes or goes', await measureIdle(computation, rounds));
    const changes = run.count('changes');
    add(`compute: ${changes} enter`, [await measureChange(computation, 'pro', changes)]);
    add(`compute: ${changes} leave`, [await measureChange(computation, 'free', changes)]);
    printTable([['', 'API', 'by hand', 'ratio'], ...rows]);
    console.log('Every answer was the same as the one by hand.\n');
  },
};

interface Round {
  apiMs: number;
  handMs: number;
}

interface Subject {
  filter: { field: string; operator: string; value?: unknown; unit?: string };
  /** SQL for the same count; `$1` is the project. */
  hand: string;
}

const counts: Readonly<Record<string, Subject>> = {
  'data is a text': {
    filter: { field: 'data.plan', operator: 'equals', value: 'pro' },
    hand: `select count(*)::int as total from contact
      where project_id = $1 and data ->> 'plan' = 'pro'`,
  },
  'data is above a number': {
    filter: { field: 'data.seats', operator: 'greaterThan', value: 150 },
    hand: `select count(*)::int as total from contact
      where project_id = $1 and (data ->> 'seats')::numeric > 150`,
  },
  'data contains a text': {
    filter: { field: 'data.city', operator: 'contains', value: 'y 7' },
    hand: `select count(*)::int as total from contact
      where project_id = $1 and data ->> 'city' like '%y 7%'`,
  },
  'an event in the last week': {
    filter: { field: 'event.event 3', operator: 'triggeredWithin', value: 7, unit: 'days' },
    hand: `select count(*)::int as total from contact where project_id = $1 and id in (
      select contact_id from event
        where project_id = $1 and name = 'event 3' and created_at >= now() - interval '7 days')`,
  },
  'no event in the last week': {
    filter: { field: 'event.event 3', operator: 'notTriggeredWithin', value: 7, unit: 'days' },
    hand: `select count(*)::int as total from contact where project_id = $1 and id not in (
      select contact_id from event
        where project_id = $1 and name = 'event 3' and created_at >= now() - interval '7 days')`,
  },
  'opened a mail': {
    filter: { field: 'email.opened', operator: 'triggered' },
    hand: `select count(*)::int as total from contact where project_id = $1 and id in (
      select contact_id from email where project_id = $1 and opened_at is not null)`,
  },
};

async function fill(
  { pool, databaseUrl }: Stack,
  { id }: Project,
  contacts: number,
): Promise<void> {
  await pool.query(
    `insert into contact (project_id, email, subscribed, data, created_at)
      select $1, 'user' || i || '@example.com', i % 10 > 0,
          jsonb_build_object('plan', (array['free', 'pro', 'team'])[1 + i % 3], 'seats', i % 200,
            'city', 'City ' || i % 1000, 'name', 'Person number ' || i,
            'address', jsonb_build_object('zip', i % 9000, 'country', 'DE')),
          now() - i * interval '1 minute'
        from generate_series(1, $2::int) as i`,
    [id, contacts],
  );
  await pool.query(
    `insert into event (project_id, contact_id, name, created_at)
      select $1, id, 'event ' || row_number() over () % 20,
          now() - (row_number() over () % 1000) * interval '1 hour'
        from contact where project_id = $1`,
    [id],
  );
  await pool.query(
    `insert into email (project_id, contact_id, to_email, subject, from_email, message_class,
        source_type, status, opened_at)
      select $1, id, email, 'Sale', 'news@shop.example', 'MARKETING', 'CAMPAIGN', 'SENT',
          case when row_number() over () % 3 = 0 then now() end
        from contact where project_id = $1`,
    [id],
  );
  await followInsertedMail(databaseUrl);
  await pool.query('vacuum analyze contact, event, email');
}

async function createSegment(project: Project, filter: object, more: object = {}) {
  const filters = { operator: 'AND', conditions: [filter] };
  const { id } = await project.call('POST', '/segments', { name: 'S', filters, ...more });
  return String(id);
}

/** Plays `rounds` rounds, after a first one that warms up and is not returned. */
async function inTurn(rounds: number, play: () => Promise<Round>): Promise<Round[]> {
  const played: Round[] = [];
  for (let index = 0; index <= rounds; index++) played.push(await play());
  return played.slice(1);
}

async function timed<T>(work: () => Promise<T>): Promise<{ ms: number; answer: T }> {
  const start = performance.now();
  const answer = await work();
  return { ms: performance.now() - start, answer };
}

async function measureCount(pool: Pool, project: Project, subject: Subject, rounds: number) {
  const id = await createSegment(project, subject.filter);
  return inTurn(rounds, async () => {
    const api = await timed(() => project.call('POST', `/segments/${id}/refresh`));
    const hand = await timed(() => pool.query<{ total: number }>(subject.hand, [project.id]));
    expectSame(api.answer['memberCount'], hand.answer.rows[0]?.total);
    return { apiMs: api.ms, handMs: hand.ms };
  });
}

/** A segment of the API, and a hand-written one with the same members. */
interface Computation {
  pool: Pool;
  project: Project;
  api: string;
  hand: string;
}

const plan = { field: 'data.plan', operator: 'equals', value: 'pro' };

async function prepareComputation(pool: Pool, project: Project): Promise<Computation> {
  const tracked = { trackMembership: true };
  const api = await createSegment(project, plan, tracked);
  const hand = await createSegment(project, { ...plan, field: 'data.none' });
  const computation = { pool, project, api, hand };
  await project.call('POST', `/segments/${api}/compute`);
  await computeByHand(computation);
  await pool.query('vacuum analyze segment_member, event');
  return computation;
}

/**
 * Computes the members in one statement, which needs no other care while no other writes happen.
 */
async function computeByHand({ pool, project, hand }: Computation) {
  const { rows } = await pool.query<{ added: number; removed: number }>(
    `with matching as (
        select id from contact where project_id = $1 and data ->> 'plan' = 'pro'
      ), entered as (
        insert into segment_member (segment_id, contact_id, project_id)
          select $2, id, $1 from matching where not exists (
            select from segment_member where segment_id = $2 and contact_id = id)
          returning contact_id
      ), gone as (
        delete from segment_member where segment_id = $2
            and not exists (select from matching where id = contact_id)
          returning contact_id
      ), recorded as (
        insert into event (project_id, contact_id, name, data)
          select $1, contact_id, 'segment.hand.' || what,
              jsonb_build_object('segmentId', $2::uuid, 'segmentName', 'S')
            from (select contact_id, 'entry' as what from entered
              union all select contact_id, 'exit' from gone)
      )
      select (select count(*)::int from entered) as added,
        (select count(*)::int from gone) as removed`,
    [project.id, hand],
  );
  return rows[0];
}

async function computeBoth(computation: Computation): Promise<Round> {
  const { project, api } = computation;
  const hand = await timed(() => computeByHand(computation));
  const own = await timed(() => project.call('POST', `/segments/${api}/compute`));
  const { added, removed } = own.answer;
  expectSame(JSON.stringify({ added, removed }), JSON.stringify(hand.answer));
  return { apiMs: own.ms, handMs: hand.ms };
}

function measureIdle(computation: Computation, rounds: number): Promise<Round[]> {
  return inTurn(rounds, () => computeBoth(computation));
}

/** Moves `changes` contacts to another plan, then computes both segments. */
async function measureChange(computation: Computation, to: 'pro' | 'free', changes: number) {
  const { pool, project } = computation;
  await pool.query(
    `update contact set data = data || jsonb_build_object('plan', $2::text)
      where id in (select id from contact where project_id = $1
        and (data ->> 'plan' = 'pro') = ($2 <> 'pro') limit $3)`,
    [project.id, to, changes],
  );
  await pool.query('vacuum analyze contact');
  return computeBoth(computation);
}

function expectSame(own: unknown, hand: unknown): void {
  if (own !== hand)
    throw new Error(`The API answers ${String(own)}, by hand it is ${String(hand)}.`);
}

function rowOf(name: string, rounds: readonly Round[]): string[] {
  const middle = (of: (round: Round) => number) => figure(median(rounds.map(of)));
  return [
    name,
    middle(({ apiMs }) => apiMs),
    middle(({ handMs }) => handMs),
    middle(({ apiMs, handMs }) => apiMs / handMs),
  ];
}
