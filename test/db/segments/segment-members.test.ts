import { randomUUID } from 'node:crypto';
import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import { computeSegment } from '../../../db/transactions/events/compute-segment.ts';
import { countMatches } from '../../../db/segments/members.ts';
import { withinConditionTime } from '../../../db/bounded.ts';
import { deleteSegment, insertSegment, type SegmentRow } from '../../../db/segments/segments.ts';
import type { Condition, Filter } from '../../../domain/filter/filter.ts';
import { useDatabase } from '../../support/servers.ts';
import { waitFor } from '../../support/wait-for.ts';
import { writeMail } from '../../support/mail-tables.ts';

const { db } = await useDatabase({ poolMax: 5 });

const alone = (filter: Filter): Condition => ({ logic: 'AND', groups: [{ filters: [filter] }] });
const isPro = alone({ field: 'data.plan', operator: 'equals', value: 'pro' });

async function newProject(): Promise<string> {
  const id = randomUUID();
  await sql`insert into project (id, name, public_key, secret_key_hash, secret_key_last4,
    webhook_signing_secret)
    values (${id}, 'p', ${id}, ${Buffer.from(id)}, 'p', 'p')`.execute(db);
  return id;
}

/** Creates a tracked segment of all contacts on plan `pro`, of which there are `count`. */
async function trackedSegment(count: number) {
  const projectId = await newProject();
  await sql`insert into contact (project_id, email, subscribed, data)
    select ${projectId}, 'c' || i || '@x.example', true, '{"plan":"pro"}'
      from generate_series(1, ${count}::int) as i`.execute(db);
  const segment = await insertSegment(db, {
    project_id: projectId,
    name: 'Pro',
    type: 'DYNAMIC',
    condition: isPro,
    track_membership: true,
  });
  return segment as SegmentRow & { type: 'DYNAMIC' };
}

const options = { now: new Date(), onDue: () => undefined };

async function eventsOf({ project_id }: SegmentRow) {
  const { rows } = await sql<{ name: string; count: number; contacts: number }>`
    select name, count(*)::int as count, count(distinct contact_id)::int as contacts
      from event where project_id = ${project_id} group by name order by name`.execute(db);
  return rows;
}

describe('a computation', () => {
  it('of more contacts than one page records each event once, also when four run at once', async () => {
    const segment = await trackedSegment(5300);
    const computed = await Promise.all(
      Array.from({ length: 4 }, () => computeSegment(db, segment, options)),
    );
    expect(computed.reduce((sum, one) => sum + (one?.added ?? 0), 0)).toBe(5300);
    const entered = { name: 'segment.pro.entry', count: 5300, contacts: 5300 };
    expect(await eventsOf(segment)).toEqual([entered]);
    const again = await computeSegment(db, segment, options);
    expect(again).toEqual({ added: 0, removed: 0, total: 5300, isComplete: true });

    await sql`update contact set data = null
      where project_id = ${segment.project_id} and email like 'c1%'`.execute(db);
    const after = await computeSegment(db, segment, options);
    const removed = after?.removed ?? 0;
    expect(after).toEqual({ added: 0, removed, total: 5300 - removed, isComplete: true });
    const left = { name: 'segment.pro.exit', count: removed, contacts: removed };
    expect(await eventsOf(segment)).toEqual([entered, left]);
  });

  it('that is cut short is finished by the next one', async () => {
    const segment = await trackedSegment(2500);
    let pages = 0;
    const first = await computeSegment(db, segment, {
      ...options,
      isOver: () => ++pages > 1,
    });
    expect(first).toEqual({ added: 1000, removed: 0, total: 1000, isComplete: false });
    const second = await computeSegment(db, segment, options);
    expect(second).toEqual({ added: 1500, removed: 0, total: 2500, isComplete: true });
    expect(await eventsOf(segment)).toMatchObject([{ count: 2500, contacts: 2500 }]);
  });

  it('of a segment that is deleted, or tracked no longer, does nothing', async () => {
    const deleted = await trackedSegment(5);
    await deleteSegment(db, deleted.id);
    expect(await computeSegment(db, deleted, options)).toBeNull();

    const untracked = await trackedSegment(5);
    await db
      .updateTable('segment')
      .set({ track_membership: false, member_count: 5 })
      .where('id', '=', untracked.id)
      .execute();
    const stopped = { added: 0, removed: 0, total: 5, isComplete: false };
    expect(await computeSegment(db, untracked, options)).toEqual(stopped);
    expect(await eventsOf(untracked)).toEqual([]);
  });

  it('looks at each contact again before it says that it came', async () => {
    const segment = await trackedSegment(3);
    const computing = await db.transaction().execute(async (tx) => {
      await sql`update contact set data = null
        where project_id = ${segment.project_id} and email = 'c1@x.example'`.execute(tx);
      const promise = computeSegment(db, segment, options);
      await waitFor('the computation waits for the contact', async () => {
        const { rows } = await sql`select from pg_stat_activity
          where datname = current_database() and wait_event_type = 'Lock'`.execute(db);
        return rows.length > 0 || null;
      });
      return { promise };
    });
    const after = { added: 2, removed: 0, total: 2, isComplete: true };
    expect(await computing.promise).toEqual(after);
    expect(await eventsOf(segment)).toEqual([{ name: 'segment.pro.entry', count: 2, contacts: 2 }]);
  });
});

it('a condition that takes too long is refused with CONDITION_TOO_HEAVY', async () => {
  const slow = withinConditionTime(db, (tx) => sql`select pg_sleep(60)`.execute(tx), 50);
  await expect(slow).rejects.toMatchObject({ code: 'CONDITION_TOO_HEAVY', status: 422 });
});

it('events and mail are counted within their project', async () => {
  const projectId = await newProject();
  const contactId = randomUUID();
  await sql`insert into contact (id, project_id, email, subscribed)
    values (${contactId}, ${projectId}, 'a@x.example', true)`.execute(db);
  await sql`insert into event (project_id, contact_id, name)
    values (${projectId}, ${contactId}, 'bought')`.execute(db);
  await writeMail(db, (tx) =>
    sql`insert into email (project_id, contact_id, to_email, subject, from_email, message_class,
      source_type, opened_at)
    values (${projectId}, ${contactId}, 'a@x.example', 's', 'b@x.example', 'MARKETING', 'CAMPAIGN',
      now())`.execute(tx),
  );
  const count = (field: string) =>
    countMatches(db, projectId, alone({ field, operator: 'triggered' }), new Date());
  expect([await count('event.bought'), await count('email.opened')]).toEqual([1, 1]);
  expect([await count('event.sold'), await count('email.clicked')]).toEqual([0, 0]);
});
