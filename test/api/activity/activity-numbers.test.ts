import { randomUUID } from 'node:crypto';
import fc from 'fast-check';
import { sql } from 'kysely';
import { expect, it } from 'vitest';
import { tallyMoments } from '../../../db/emails/moments.ts';
import { foldEventTally } from '../../../db/transactions/events/delete-events.ts';
import { isReservedEvent } from '../../../domain/event-names.ts';
import { useShop } from '../../support/projects/shop.ts';
import { writeMail } from '../../support/mail-tables.ts';

/** Compares the responses of all endpoints for random rows with numbers computed in the test. */

/** Few times, so that many things happen at the same one; some are at the ends of days. */
const moments = [
  '2026-03-01T00:00:00.000Z',
  '2026-03-01T12:00:00.000Z',
  '2026-03-01T23:59:59.999Z',
  '2026-03-02T00:00:00.000Z',
  '2026-03-02T00:00:00.001Z',
  '2026-03-02T12:00:00.000Z',
  '2026-03-04T23:59:59.999Z',
  '2026-03-05T00:00:00.000Z',
];
const times = ['sent', 'delivered', 'opened', 'clicked', 'bounced', 'complained'] as const;
type At = Record<`${(typeof times)[number]}_at`, string | null>;

const moment = fc.constantFrom(...moments);
const maybe = fc.option(moment, { nil: null, freq: 2 });
const id = fc.uuid();
const contact = fc.constantFrom(0, 1);
const name = fc.constantFrom(
  'ordered',
  'email',
  'emails.x',
  'segment.vip',
  'contact.subscribed.x',
  'x.email.open',
  'email.open',
  'segment.a.b.entry',
  'contact.subscribed',
  'contact.unsubscribed',
);

const shop = await useShop();
const { db } = shop.api;
const emails = ['ada@x.example', 'bob@x.example'];
const contacts = await db
  .insertInto('contact')
  .values(emails.map((email) => ({ project_id: shop.project.id, email, subscribed: true })))
  .returning('id')
  .execute();
const contactIds = contacts.map(({ id }) => id);
const made = await db
  .insertInto('workflow')
  .values({ project_id: shop.project.id, name: 'W' })
  .returning('id')
  .executeTakeFirstOrThrow();
const workflowId = made.id;
await db
  .insertInto('workflow_version')
  .values({ project_id: shop.project.id, workflow_id: workflowId, version: 1, graph: '{}' })
  .execute();
const history = fc.record({
  events: fc.array(
    fc.record({ id, name, at: moment, contact: fc.option(contact, { nil: null }) }),
    { maxLength: 12 },
  ),
  emails: fc.array(
    fc.record({
      id,
      contact,
      created_at: moment,
      source_type: fc.constantFrom('TRANSACTIONAL', 'CAMPAIGN', 'INBOUND'),
      status: fc.constantFrom('SENT', 'FAILED'),
      opens: fc.nat(3),
      at: fc.record(Object.fromEntries(times.map((time) => [`${time}_at`, maybe]))),
    }),
    { maxLength: 8 },
  ),
  campaigns: fc.array(
    fc.record({
      id,
      sent_at: maybe,
      counts: fc.tuple(fc.nat(3), fc.nat(3), fc.nat(3)),
    }),
    { maxLength: 4 },
  ),
  executions: fc.array(
    fc.record({ id, contact, started_at: moment, micros: fc.nat(999), completed_at: maybe }),
    { maxLength: 6 },
  ),
});
type History = typeof history extends fc.Arbitrary<infer Given> ? Given : never;

async function store({ events, emails, campaigns, executions }: History): Promise<void> {
  const { db } = shop.api;
  const projectId = shop.project.id;
  await sql`truncate event, event_tally, email, email_moment, email_queue, late_mail, provider_message, email_tally, campaign, execution cascade`.execute(
    db,
  );
  const rows = (list: object[]) => sql`jsonb_to_recordset(${JSON.stringify(list)}::jsonb)`;
  const contactOf = (index: number | null) => (index === null ? null : contactIds[index]);
  await sql`insert into event (project_id, id, name, contact_id, data, created_at)
    select ${projectId}, id, name, contact_id, '{"source":"api"}', at
      from ${rows(events.map((row) => ({ ...row, contact_id: contactOf(row.contact) })))}
        as r(id uuid, name text, contact_id uuid, at timestamptz)`.execute(db);
  const columns = sql.raw(times.map((time) => `${time}_at`).join(', '));
  const types = sql.raw(times.map((time) => `${time}_at timestamptz`).join(', '));
  const mails = emails.map((row) => ({ ...row, ...row.at, contact_id: contactOf(row.contact) }));
  await writeMail(db, (tx) =>
    sql`insert into email (project_id, id, contact_id, to_email, subject, from_email,
      message_class, source_type, status, error, opens, created_at, ${columns})
    select ${projectId}, id, contact_id, 'a@x.example', 's', 'b@x.example', 'MARKETING',
        source_type, status, case when status = 'FAILED' then 'refused' end, opens, created_at, ${columns}
      from ${rows(mails)} as r(id uuid, contact_id uuid, source_type text, status text,
        opens int, created_at timestamptz, ${types})`.execute(tx),
  );
  for (const { id: campaignId, sent_at, counts } of campaigns) {
    await db
      .insertInto('campaign')
      .values({
        id: campaignId,
        project_id: projectId,
        name: 'C',
        subject: 's',
        body: 'b',
        from_email: 'a@x.example',
        audience_type: 'ALL',
        message_class: 'MARKETING',
        sent_at,
        status: sent_at ? 'SENT' : 'DRAFT',
        created_at: moments[5],
        sent_count: counts[0],
        opened_count: counts[1],
        clicked_count: counts[2],
      })
      .execute();
  }
  const runs = executions.map((row) => ({ ...row, contact_id: contactOf(row.contact) }));
  await sql`insert into execution (project_id, id, workflow_id, workflow_version, workflow_name,
      contact_id, status, started_at, completed_at)
    select ${projectId}, id, ${workflowId}, 1, 'W', contact_id, 'COMPLETED',
        started_at + make_interval(secs => micros / 1000000.0), completed_at
      from ${rows(runs)} as r(id uuid, contact_id uuid, started_at timestamptz, micros int,
        completed_at timestamptz)`.execute(db);
}

interface Item {
  id: string;
  type: string;
  timestamp: string;
  contactId: string | null;
}

const isSent = ({ at, status, source_type }: History['emails'][number]) =>
  (at as At).sent_at !== null && status !== 'FAILED' && source_type !== 'INBOUND';

/** Returns all items of the feed, in its order. */
function itemsOf({ events, emails, campaigns, executions }: History): Item[] {
  const items: Item[] = [];
  const add = (itemId: string, type: string, timestamp: string | null, index: number | null) => {
    const contactId = index === null ? null : (contactIds[index] ?? null);
    if (timestamp !== null) items.push({ id: itemId, type, timestamp, contactId });
  };
  for (const event of events) {
    const type = /^contact\.(un)?subscribed$/.test(event.name) ? event.name : 'event.triggered';
    if (type === event.name || !isReservedEvent(event.name)) {
      add(event.id, type, event.at, event.contact);
    }
  }
  for (const email of emails) {
    const at = email.at as At;
    const say = (word: string, timestamp: string | null) =>
      add(`${email.id}_${word}`, `email.${word}`, timestamp, email.contact);
    if (isSent(email)) say('sent', at.sent_at);
    for (const word of ['delivered', 'opened', 'clicked', 'bounced'] as const) {
      say(word, at[`${word}_at`]);
    }
    say('complaint', at.complained_at);
    if (email.source_type === 'INBOUND') say('received', email.created_at);
  }
  for (const campaign of campaigns) {
    add(`campaign_${campaign.id}_sent`, 'campaign.sent', campaign.sent_at, null);
  }
  for (const run of executions) {
    add(`${run.id}_started`, 'workflow.started', run.started_at, run.contact);
    add(`${run.id}_completed`, 'workflow.completed', run.completed_at, run.contact);
  }
  const key = ({ timestamp, id: itemId }: Item) => `${timestamp} ${itemId}`;
  return items.toSorted((a, b) => (key(a) < key(b) ? 1 : -1));
}

async function get<T>(path: string): Promise<T> {
  const { status, body } = await shop.call('GET', path);
  if (status !== 200) throw new Error(`${path}: ${JSON.stringify(body)}`);
  return body as T;
}

async function readFeed(query: string, limit: number): Promise<Item[]> {
  const items: Item[] = [];
  for (let cursor = ''; ;) {
    const page = await get<{ data: Item[]; hasMore: boolean; cursor?: string }>(
      `/activity?limit=${limit}${query}${cursor}`,
    );
    items.push(...page.data);
    expect(page.hasMore).toBe(page.cursor !== undefined);
    expect(page.data.length).toBeLessThanOrEqual(limit);
    if (page.cursor === undefined) return items;
    cursor = `&cursor=${encodeURIComponent(page.cursor)}`;
  }
}

const subset = fc.subarray(
  ['event.triggered', 'contact.subscribed', 'email.sent', 'email.opened', 'email.complaint'].concat(
    ['email.received', 'campaign.sent', 'workflow.started', 'workflow.completed'],
  ),
  { minLength: 1 },
);

it('the feed shows every row once and in order, however it is paged and filtered', async () => {
  await fc.assert(
    fc.asyncProperty(
      history,
      fc.option(subset, { nil: null }),
      fc.option(contact, { nil: null }),
      fc.tuple(fc.option(moment, { nil: null }), fc.option(moment, { nil: null })),
      fc.integer({ min: 1, max: 7 }),
      async (given, types, of, dates, limit) => {
        await store(given);
        const [start, end] = dates.toSorted((a, b) => (a && b ? (a < b ? -1 : 1) : 0));
        const expected = itemsOf(given).filter(
          (item) =>
            (!types || types.includes(item.type)) &&
            (of === null || item.contactId === contactIds[of]) &&
            (!start || item.timestamp >= start) &&
            (!end || item.timestamp <= end),
        );
        const query = [
          types ? `&types=${types.join(',')}` : '',
          of === null ? '' : `&contactId=${contactIds[of]}`,
          start ? `&startDate=${start}` : '',
          end ? `&endDate=${end}` : '',
        ].join('');
        const shown = await readFeed(query, limit);
        expect(shown.map((item) => [item.timestamp, item.id, item.type])).toEqual(
          expected.map((item) => [item.timestamp, item.id, item.type]),
        );
        expect(shown.map((item) => item.contactId ?? null)).toEqual(
          expected.map((item) => item.contactId),
        );
      },
    ),
    { numRuns: 60 },
  );
});

/** Counts the events by name, the most frequent first. */
function countNames(events: History['events']): { name: string; count: number }[] {
  const counts = new Map<string, number>();
  for (const event of events) counts.set(event.name, (counts.get(event.name) ?? 0) + 1);
  return [...counts]
    .map(([named, count]) => ({ name: named, count }))
    .toSorted((a, b) => b.count - a.count || (a.name < b.name ? -1 : 1));
}

it('stats and analytics count what the feed shows', async () => {
  await fc.assert(
    fc.asyncProperty(history, moment, moment, fc.boolean(), async (given, one, other, folded) => {
      await store(given);
      if (folded) {
        await foldEventTally(shop.api.db);
        while (await tallyMoments(shop.api.db));
      }
      const [start = '', end = ''] = [one, other].toSorted();
      const query = `startDate=${start}&endDate=${end}`;
      const inPeriod = ({ timestamp }: Item) => timestamp >= start && timestamp <= end;
      const items = itemsOf(given).filter(inPeriod);
      const count = (type: string) => items.filter((item) => item.type === type).length;
      const recorded = given.events.filter(({ at }) => at >= start && at <= end);

      expect(await get(`/events/stats?${query}`)).toEqual(countNames(recorded));
      const rate = (part: number) =>
        count('email.sent') === 0 ? 0 : Math.min(100, (part / count('email.sent')) * 100);
      expect(await get(`/activity/stats?${query}`)).toEqual({
        totalEvents: recorded.length,
        totalEmailsSent: count('email.sent'),
        totalEmailsOpened: count('email.opened'),
        totalEmailsClicked: count('email.clicked'),
        totalWorkflowsStarted: count('workflow.started'),
        openRate: rate(count('email.opened')),
        clickRate: rate(count('email.clicked')),
      });

      const days = daysBetween(start, end);
      const onDay = (type: string, day: string) =>
        itemsOf(given).filter((item) => item.type === type && item.timestamp.startsWith(day))
          .length;
      expect(await get(`/analytics/timeseries?${query}`)).toEqual(
        days.map((date) => ({
          date,
          emails: onDay('email.sent', date),
          opens: onDay('email.opened', date),
          clicks: onDay('email.clicked', date),
          bounces: onDay('email.bounced', date),
          delivered: onDay('email.delivered', date),
        })),
      );
      const onDays = given.events.filter(({ at }) => days.includes(at.slice(0, 10)));
      const top = await get<{ name: string; count: number }[]>(
        `/analytics/top-events?${query}&limit=20`,
      );
      expect(top.map((row) => ({ name: row.name, count: row.count }))).toEqual(countNames(onDays));

      const sent = given.campaigns.filter(
        (row) => row.sent_at && days.includes(row.sent_at.slice(0, 10)),
      );
      const best = await get<{ id: string; openedCount: number }[]>(
        `/analytics/top-campaigns?${query}`,
      );
      expect(best.map((row) => row.id).toSorted()).toEqual(sent.map((row) => row.id).toSorted());
      const opened = best.map((row) => row.openedCount);
      expect(opened).toEqual(opened.toSorted((a, b) => b - a));
    }),
    { numRuns: 60 },
  );
});

function daysBetween(start: string, end: string): string[] {
  const days: string[] = [];
  for (let at = Date.parse(start.slice(0, 10)); at <= Date.parse(end); at += 86_400_000) {
    days.push(new Date(at).toISOString().slice(0, 10));
  }
  return days;
}

it('names and usage count every event there is', async () => {
  await fc.assert(
    fc.asyncProperty(history, async (given) => {
      await store(given);
      const names = countNames(given.events);
      const { eventNames } = await get<{ eventNames: string[] }>('/events/names');
      expect(eventNames).toEqual(names.map((row) => row.name));
      for (const { name: named, count } of [...names, { name: randomUUID(), count: 0 }]) {
        const contacts = given.events.filter((row) => row.name === named && row.contact !== null);
        expect(await get(`/events/${named}/usage`)).toMatchObject({
          totalCount: count,
          uniqueContacts: new Set(contacts.map((row) => row.contact)).size,
        });
      }
    }),
    { numRuns: 20 },
  );
});
