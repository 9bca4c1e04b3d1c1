import { randomUUID } from 'node:crypto';
import { sql } from 'kysely';
import type { Database } from '../../../db/database.ts';
import { conditionSql } from '../../../db/sql/filter.ts';
import { type Condition, mailEvents, type Filter } from '../../../domain/filter/filter.ts';
import type { Segments } from '../../../domain/filter/references.ts';
import { now, plainContact, type TableContact } from '../../domain/filter/filter-table.ts';
import { useDatabase } from '../servers.ts';
import { writeMail } from '../mail-tables.ts';

/** A database that stores contacts and evaluates conditions for them. */
export interface FilterDatabase {
  url: string;
  db: Database;
  /**
   * Stores contacts with all their data, each in a separate project, so that addresses may repeat.
   * Returns their ids in the same order.
   */
  store(contacts: TableContact[], segments: Segments): Promise<string[]>;
  /** Returns the database's result for each contact and each condition. */
  ask(conditions: Condition[], ids: string[], segments: Segments): Promise<(boolean | null)[][]>;
}

/** Returns a condition with one filter. */
export const alone = (filter: Filter): Condition => ({
  logic: 'AND',
  groups: [{ filters: [filter] }],
});

export async function useFilterDatabase(): Promise<FilterDatabase> {
  const { url, db } = await useDatabase({ poolMax: 2 });
  const projectId = randomUUID();
  await sql`insert into project (id, name, public_key, secret_key_hash, secret_key_last4,
    webhook_signing_secret) values (${projectId}, 'p', 'p', 'p', 'p', 'p')`.execute(db);
  return {
    url,
    db,
    store: (contacts, segments) => storeContacts(db, projectId, contacts, segments),
    ask: (conditions, ids, segments) => askDatabase(db, conditions, ids, segments),
  };
}

async function storeContacts(
  db: Database,
  projectId: string,
  contacts: TableContact[],
  segments: Segments,
): Promise<string[]> {
  const rows = contacts.map((given) => ({ ...plainContact, ...given, id: randomUUID() }));
  const insert = (text: ReturnType<typeof sql>) => text.execute(db);
  const json = (value: unknown) => sql`${JSON.stringify(value)}::jsonb`;
  await insert(sql`insert into contact (id, project_id, email, subscribed, data, created_at, updated_at)
    select id, id, email, subscribed, nullif(nullif(data, 'null'), '{}'), "createdAt", "updatedAt"
    from jsonb_to_recordset(${json(rows)}) as c(id uuid, email text, subscribed boolean, data jsonb,
      "createdAt" timestamptz, "updatedAt" timestamptz)`);
  const events = rows.flatMap(({ id, events }) => events.map(([name, at]) => ({ id, name, at })));
  await insert(sql`insert into event (project_id, contact_id, name, created_at)
    select ${projectId}, id, name, at
    from jsonb_to_recordset(${json(events)}) as e(id uuid, name text, at timestamptz)`);
  await storeMail(
    db,
    projectId,
    rows.flatMap(({ id, activities, mail }) => [
      ...activities.map(([activity, at]) => ({ id, ...eventOf(activity, at) })),
      ...mail.map(([field, at]) => {
        const [source, sourceId, event] = field.split('.');
        return { id, [`${source}_id`]: sourceId, ...eventOf(event!, at) };
      }),
    ]),
  );
  for (const [segmentId, condition] of segments) {
    if (condition) continue;
    await insert(sql`insert into segment (id, project_id, name, type)
      values (${segmentId}, ${projectId}, 's', 'STATIC') on conflict do nothing`);
    const members = rows.filter(({ segments }) => segments.includes(segmentId));
    await insert(sql`insert into segment_member (segment_id, contact_id, project_id)
      select ${segmentId}, id, ${projectId} from unnest(${members.map(({ id }) => id)}::uuid[]) as id`);
  }
  return rows.map(({ id }) => id);
}

/** Returns the columns of an email that has had this event. */
function eventOf(event: string, at: string): Record<string, unknown> {
  const isFailure = event === 'failed' || event === 'withheld';
  if (!isFailure) return { [columnOf(event)]: at };
  const [error, state] = event === 'failed' ? ['550 no', 'refused'] : ['late', 'withheld'];
  // If a message was refused, retried, and refused again, the time of the last refusal counts.
  const trace = [firstInstant, at].map((time) => ({ state, at: time, detail: null }));
  return { status: 'FAILED', error, trace };
}

const columnOf = (event: string) =>
  `${event.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)}_at`;

const firstInstant = '2000-01-01T00:00:00.000Z';

async function storeMail(
  db: Database,
  projectId: string,
  emails: Record<string, unknown>[],
): Promise<void> {
  const timed = mailEvents.filter((event) => event !== 'failed' && event !== 'withheld');
  const times = sql.raw(timed.map(columnOf).join(', '));
  const types = sql.raw(timed.map((event) => `${columnOf(event)} timestamptz`).join(', '));
  const mail = sql`insert into email (project_id, contact_id, to_email, subject, from_email,
      message_class, source_type, campaign_id, template_id, status, error, trace, due_at, ${times})
    select ${projectId}, id, 'a@x.example', 's', 'b@x.example', 'MARKETING', 'CAMPAIGN', campaign_id,
        template_id, coalesce(status, 'PENDING'), error, coalesce(trace, '[]'),
        case when status is null then now() end, ${times}
    from jsonb_to_recordset(${JSON.stringify(emails)}::jsonb) as m(id uuid, campaign_id uuid,
      template_id uuid, status text, error text, trace jsonb, ${types})`;
  await writeMail(db, (tx) => mail.execute(tx));
}

async function askDatabase(
  db: Database,
  conditions: Condition[],
  ids: string[],
  segments: Segments,
) {
  const answers = new Map<string, (boolean | null)[]>(ids.map((id) => [id, []]));
  const size = 40;
  for (let from = 0; from < conditions.length; from += size) {
    const columns = conditions
      .slice(from, from + size)
      .map((condition) => conditionSql(condition, { now, segments, contact: 'c' }));
    const { rows } = await sql<{ id: string; answers: (boolean | null)[] }>`
      select c.id, array[${sql.join(columns)}] as answers from contact as c
      where c.id = any(${ids}::uuid[])`.execute(db);
    for (const row of rows) answers.get(row.id)!.push(...row.answers);
  }
  return ids.map((id) => answers.get(id)!);
}
