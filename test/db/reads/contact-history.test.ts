import { randomUUID } from 'node:crypto';
import { sql } from 'kysely';
import { beforeAll, describe, expect, it } from 'vitest';
import { readContactHistory } from '../../../db/reads/contacts/history.ts';
import type { Condition, Filter } from '../../../domain/filter/filter.ts';
import { useDatabase } from '../../support/servers.ts';
import { writeMail } from '../../support/mail-tables.ts';

const { db } = await useDatabase({ poolMax: 2 });
const [projectId, otherProjectId] = [randomUUID(), randomUUID()];
const [contactId, otherId] = [randomUUID(), randomUUID()];
const [handPicked, dynamic, foreign] = [randomUUID(), randomUUID(), randomUUID()];
const contact = { id: contactId, project_id: projectId };
const at = (minute: number) => new Date(Date.UTC(2026, 10, 1, 8, minute));

const all = (...filters: Filter[]): Condition => ({ logic: 'AND', groups: [{ filters }] });
const triggered = (field: string): Filter => ({ field, operator: 'triggered' });
const member = (id: string): Filter => ({ field: `segment.${id}`, operator: 'memberOfSegment' });

beforeAll(async () => {
  for (const id of [projectId, otherProjectId]) {
    await sql`insert into project (id, name, public_key, secret_key_hash, secret_key_last4,
      webhook_signing_secret) values (${id}, 'p', ${id}, ${id}, 'p', 'p')`.execute(db);
  }
  for (const [id, project] of [
    [contactId, projectId],
    [otherId, otherProjectId],
  ]) {
    await sql`insert into contact (id, project_id, subscribed, email) values (${id}, ${project}, true,
      ${`${id}@people.test`})`.execute(db);
    for (const minute of id === contactId ? [1, 3, 2] : [50]) {
      await sql`insert into event (project_id, contact_id, name, created_at)
        values (${project}, ${id}, 'bought', ${at(minute)})`.execute(db);
    }
    for (const minute of id === contactId ? [4, 6, 5] : [50]) {
      await writeMail(db, (tx) =>
        sql`insert into email (project_id, contact_id, to_email, subject, from_email,
          message_class, source_type, status, derived_events, sent_at, opened_at)
        values (${project}, ${id}, 'a@x.test', 's', 'b@x.test', 'MARKETING', 'CAMPAIGN', 'SENT',
          ${minute === 4 ? 1 : 0}, ${at(minute)}, ${at(minute + 10)})`.execute(tx),
      );
    }
  }
  const inside = JSON.stringify(all(triggered('event.bought'), member(handPicked)));
  await sql`insert into segment (id, project_id, name, type, condition) values
    (${handPicked}, ${projectId}, 'a', 'STATIC', null),
    (${dynamic}, ${projectId}, 'b', 'DYNAMIC', ${inside}::jsonb),
    (${foreign}, ${otherProjectId}, 'c', 'STATIC', null)`.execute(db);
  await sql`insert into segment_member (segment_id, contact_id, project_id)
    values (${handPicked}, ${contactId}, ${projectId})`.execute(db);
});

describe('the history of a contact', () => {
  it('has the last time of each event and activity, of this contact alone', async () => {
    const filters = [
      triggered('event.bought'),
      triggered('event.never'),
      triggered('email.opened'),
    ];
    const history = await readContactHistory(db, contact, [all(...filters)]);
    expect(history.events.get('bought')).toEqual(at(3));
    expect(history.events.has('never')).toBe(false);
    expect(history.activities.get('opened')).toEqual(at(16));
    expect(history.activities.has('clicked')).toBe(false);
  });

  it('has the events that the rows of mail stand for', async () => {
    const filters = [triggered('event.email.sent')];
    const { events } = await readContactHistory(db, contact, [all(...filters)]);
    expect(events.get('email.sent')).toEqual(at(4));
  });

  it('has what the conditions of segments ask', async () => {
    const history = await readContactHistory(db, contact, [all(member(dynamic))]);
    expect(history.events.get('bought')).toEqual(at(3));
    expect([...history.memberships]).toEqual([handPicked]);
    expect([...history.segments.keys()].toSorted()).toEqual([handPicked, dynamic].toSorted());
  });

  it('has no segment of another project', async () => {
    const history = await readContactHistory(db, contact, [all(member(foreign))]);
    expect([history.segments.size, history.memberships.size]).toEqual([0, 0]);
  });
});
