import { randomUUID } from 'node:crypto';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { transact } from '../../../../db/database.ts';
import { recordConversions } from '../../../../db/transactions/events/conversions.ts';
import { type Goal, touches } from '../../../../domain/goals/goal.ts';
import { useApi } from '../../../support/api.ts';
import { insertTestCampaign, insertTestEmail } from '../../../support/projects/mails.ts';

/** Which mail an event is attributed to, compared with a plain model of the rules. */

const api = await useApi();
const { db } = api;
const { cookie } = await api.signUp();
const { id: projectId } = await api.createProject(cookie);

const hourMs = 3_600_000;
const start = Date.parse('2026-03-01T00:00:00.000Z');

/** Moments are few, so that equal ones and those at the edge of a window occur. */
const moment = fc.integer({ min: 0, max: 12 }).map((half) => start + half * 12 * hourMs);
const maybe = fc.option(moment, { nil: null });

const playedMail = fc.record({
  owner: fc.integer({ min: 0, max: 3 }),
  createdAt: moment,
  sentAt: maybe,
  openedAt: maybe,
  clickedAt: maybe,
});

const playedGoal = fc.record({
  eventName: fc.constantFrom('order', 'visit'),
  windowDays: fc.integer({ min: 1, max: 3 }),
  touch: fc.constantFrom(...touches),
});

const play = fc.record({
  goals: fc.array(fc.option(playedGoal, { nil: null }), { minLength: 4, maxLength: 4 }),
  mails: fc.uniqueArray(playedMail, {
    maxLength: 6,
    // A campaign has one mail for each contact, and a younger mail was made later.
    comparator: (one, other) => one.owner === other.owner || one.createdAt === other.createdAt,
  }),
  events: fc.array(fc.record({ name: fc.constantFrom('order', 'visit', 'other'), at: moment }), {
    minLength: 1,
    maxLength: 6,
  }),
});

type Play = typeof play extends fc.Arbitrary<infer T> ? T : never;

/** Returns the index of the mail that an event is attributed to; -1: none. */
function attributed({ goals, mails }: Play, event: Play['events'][number]): number {
  const touched = mails.flatMap((mail, index) => {
    const goal: Goal | null = goals[mail.owner] ?? null;
    if (goal?.eventName !== event.name) return [];
    const at = { sent: mail.sentAt, open: mail.openedAt, click: mail.clickedAt }[goal.touch];
    if (at === null || at >= event.at || event.at - at > goal.windowDays * 24 * hourMs) return [];
    return [{ index, at, createdAt: mail.createdAt }];
  });
  const [latest] = touched.toSorted(
    (one, other) => other.at - one.at || other.createdAt - one.createdAt,
  );
  return latest?.index ?? -1;
}

const dateOf = (at: number | null) => (at === null ? null : new Date(at));

async function storePlay({ goals, mails, events }: Play) {
  const contact = { project_id: projectId, email: `${randomUUID()}@people.test`, subscribed: true };
  const { id: contactId } = await db
    .insertInto('contact')
    .values(contact)
    .returning('id')
    .executeTakeFirstOrThrow();
  const campaignIds: string[] = [];
  for (const goal of goals) {
    campaignIds.push(
      await insertTestCampaign(db, projectId, { goal: goal && JSON.stringify(goal) }),
    );
  }
  const emailIds: string[] = [];
  for (const mail of mails) {
    const campaignId = campaignIds[mail.owner]!;
    const emailId = await insertTestEmail(
      db,
      { projectId, contactId, campaignId },
      {
        created_at: new Date(mail.createdAt),
        sent_at: dateOf(mail.sentAt),
        opened_at: dateOf(mail.openedAt),
        clicked_at: dateOf(mail.clickedAt),
      },
    );
    for (const [kind, at] of Object.entries({ open: mail.openedAt, click: mail.clickedAt })) {
      if (at === null) continue;
      const made = { project_id: projectId, email_id: emailId, at: new Date(at), kind };
      await db.insertInto('engagement').values(made).execute();
    }
    emailIds.push(emailId);
  }
  const eventIds: string[] = [];
  for (const { name, at } of events) {
    const values = { project_id: projectId, contact_id: contactId, name, created_at: new Date(at) };
    const event = await db
      .insertInto('event')
      .values(values)
      .returning('id')
      .executeTakeFirstOrThrow();
    eventIds.push(event.id);
  }
  return { campaignIds, emailIds, eventIds };
}

it('attributes each event to the latest touch over all goals, or to none', async () => {
  await fc.assert(
    fc.asyncProperty(play, async (given) => {
      const { campaignIds, emailIds, eventIds } = await storePlay(given);
      await transact(db, (tx) => recordConversions(tx, eventIds));
      const rows = await db
        .selectFrom('conversion')
        .select(['event_id', 'email_id', 'at'])
        .where('event_id', 'in', eventIds)
        .execute();
      const found = eventIds.map((id) => {
        const row = rows.find(({ event_id: eventId }) => eventId === id);
        return row ? emailIds.indexOf(row.email_id) : -1;
      });
      const meant = given.events.map((event) => attributed(given, event));
      expect(found).toEqual(meant);
      const mails = await db
        .selectFrom('email')
        .select(['id', 'converted_at'])
        .where('campaign_id', 'in', campaignIds)
        .execute();
      for (const [index, id] of emailIds.entries()) {
        const own = given.events.filter((_, event) => meant[event] === index).map(({ at }) => at);
        const first = mails.find((mail) => mail.id === id)?.converted_at?.getTime() ?? null;
        expect(first).toBe(own.length > 0 ? Math.min(...own) : null);
      }
    }),
    { numRuns: 40 },
  );
}, 120_000);
