import { setTimeout as sleep } from 'node:timers/promises';
import { sql } from 'kysely';
import { useFakeSns } from '../../support/fakes/sns.ts';
import { sesEvent } from '../../support/fakes/ses-messages.ts';
import { trackedMail } from '../../support/projects/engagement.ts';
import { waitFor } from '../../support/wait-for.ts';
import { campaignWith, type Part, type PartMaker, type Play } from './workload.ts';

/** A campaign with an experiment. Most recipients are in its test group. */

const settings = {
  arms: [{ id: 'a' }, { id: 'b', subject: 'Other' }],
  testPercent: 75,
  decideAfterSeconds: 4,
  metric: 'event',
  minPerArm: 1,
};

/** Numbers of replies, by kind. */
type Replies = Record<'Delivery' | 'Open' | 'Click', number>;

const none: Replies = { Delivery: 0, Open: 0, Click: 0 };
const replies = 1_000;
/** Replies under way at once. */
const parallel = 20;

interface Tested {
  id: string;
  to: string;
  arm: string;
}

/** An experiment that an event decides for arm b. */
export const experiment: PartMaker = (play) => experimentWith(play, async () => none);

/** The same, and replies from the test group arrive around the decision. */
export const repliedExperiment: PartMaker = (play) => experimentWith(play, sendReplies);

/**
 * Waits until around the decision of an experiment, another moment for each seed: before and while
 * it is decided, or while the rest is sent.
 */
export async function untilDecision(play: Play): Promise<void> {
  const [isBefore, part] = [play.random() < 0.6, play.random()];
  const dueAt = await timeOf(play, 'decide_at');
  if (isBefore) return sleepUntil(dueAt - 100 + 500 * part);
  await timeOf(play, 'decided_at');
  await sleep(1_500 * part);
}

const sleepUntil = (at: number) => sleep(Math.max(0, at - Date.now()));

async function timeOf(play: Play, column: 'decide_at' | 'decided_at'): Promise<number> {
  const { world, campaignId } = play;
  const ask = async () => {
    const { rows } = await sql<{ at: Date | null }>`select ${sql.ref(column)} as at from experiment
      where campaign_id = ${campaignId}`.execute(world.db);
    return rows[0]?.at?.getTime();
  };
  return waitFor(column, () => ask().catch(() => null), 120_000);
}

async function experimentWith(
  play: Play,
  reply: (play: Play, tested: readonly Tested[]) => Promise<Replies>,
): Promise<Part> {
  const { world, mark } = play;
  const eventName = `${mark}ordered`;
  const part = await campaignWith(play, { given: { experiment: { ...settings, eventName } } });
  const path = `/campaigns/${play.campaignId}/experiment`;
  let tested: Tested[] = [];
  let answered = none;
  /** All that was ever returned as the decision. */
  const decisions = new Set<string>();
  async function look(): Promise<{ decision: { arm: string } | null; arms: Counts[] }> {
    const { body } = await world.engine.call('GET', path);
    const { decision, arms } = body.data;
    if (decision) decisions.add(JSON.stringify(decision));
    return { decision, arms };
  }
  return {
    async begin() {
      await part.begin();
      const at = await timeOf(play, 'decide_at');
      tested = await listTested(play);
      const { to } = tested.find(({ arm }) => arm === 'b')!;
      await world.ask('POST', '/v1/track', { email: to, event: eventName }, `${mark}order`);
      await sleepUntil(at - 1_500);
      answered = await reply(play, tested);
    },
    async pending() {
      await look();
      const open = await part.pending();
      return open ?? pendingReplies(play);
    },
    async tally() {
      const tally = await part.tally();
      const { decision, arms } = await look();
      const wrong = [
        ...(decisions.size === 1 ? [] : [`${decisions.size} decisions`]),
        ...(decision?.arm === 'b' ? [] : [`decided for arm ${decision?.arm}`]),
        ...(await faultsOfMail(play, tested)),
        ...(await faultsOfReplies(play, answered, arms)),
      ];
      return { ...tally, wrong: [...tally.wrong, ...wrong] };
    },
  };
}

type Counts = Record<'delivered' | 'humanOpened' | 'humanClicked', number>;

async function listTested({ world, campaignId }: Play): Promise<Tested[]> {
  const { rows } = await sql<Tested>`
    select id, to_email as to, arm from email
      where campaign_id = ${campaignId} and arm is not null order by id`.execute(world.db);
  return rows;
}

/** Describes changed arms, and sent mail with the content of another arm. */
async function faultsOfMail(play: Play, before: readonly Tested[]): Promise<string[]> {
  const after = await listTested(play);
  const changed = JSON.stringify(before) !== JSON.stringify(after);
  const { rows } = await sql<{ count: number }>`
    select count(*)::int as count from email where campaign_id = ${play.campaignId}
      and sent_at is not null and (subject = 'Other') <> (coalesce(arm, 'b') = 'b')`.execute(
    play.world.db,
  );
  const count = rows[0]?.count ?? 0;
  return [
    ...(changed ? ['the test group has changed'] : []),
    ...(count > 0 ? [`${count} mails of another arm`] : []),
  ];
}

/** Describes answered replies that a mail or the numbers of the arms have not. */
async function faultsOfReplies(
  { world, campaignId }: Play,
  answered: Replies,
  arms: readonly Counts[],
): Promise<string[]> {
  const { rows } = await sql<Replies & Counts>`
    select count(delivered_at)::int as "Delivery", coalesce(sum(opens), 0)::int as "Open",
        coalesce(sum(clicks), 0)::int as "Click", count(delivered_at)::int as delivered,
        count(*) filter (where opens > 0)::int as "humanOpened",
        count(human_clicked_at)::int as "humanClicked"
      from email where campaign_id = ${campaignId} and arm is not null`.execute(world.db);
  const counted = rows[0]!;
  const kinds = Object.keys(none) as (keyof Replies)[];
  const fields = ['delivered', 'humanOpened', 'humanClicked'] as const;
  const inArms = (field: keyof Counts) => arms.reduce((sum, arm) => sum + arm[field], 0);
  return [
    ...kinds
      .filter((kind) => counted[kind] !== answered[kind])
      .map((kind) => `${answered[kind]} ${kind} answered, ${counted[kind]} counted`),
    ...fields
      .filter((field) => counted[field] !== inArms(field))
      .map((field) => `${counted[field]} ${field}, ${inArms(field)} in the arms`),
  ];
}

/** Describes replies without a verdict; null: there are none. */
async function pendingReplies({ world, campaignId }: Play): Promise<string | null> {
  const { rows } = await sql<{ count: number }>`
    select count(*)::int as count from engagement join email on email.id = email_id
      where campaign_id = ${campaignId} and verdict is null`.execute(world.db);
  return rows[0]?.count ? `${rows[0].count} replies without a verdict` : null;
}

/** Reports deliveries, opens and clicks of the test group. Returns how many were answered. */
async function sendReplies({ world }: Play, tested: readonly Tested[]): Promise<Replies> {
  const { api } = world.engine;
  const fake = await useFakeSns();
  api.services.feedbackReaders = fake.feedbackReaders;
  const links = ['https://shop.test/1', 'https://shop.test/2', 'https://shop.test/3'];
  const deliver = (emailId: string) =>
    api.request('POST', '/webhooks/sns', {
      body: JSON.stringify(fake.notification(sesEvent('Delivery', { emailId }))),
      headers: { 'Content-Type': 'text/plain; charset=UTF-8' },
    });
  const each: [keyof Replies, (id: string) => Promise<{ status: number }>][] = [
    ['Delivery', deliver],
    ['Open', (id) => trackedMail(api, id, links).open()],
    ['Click', (id) => trackedMail(api, id, links).click()],
    ['Click', (id) => trackedMail(api, id, links).click({ link: 1 })],
  ];
  const waiting = Array.from({ length: replies }, (_, n) => {
    const [kind, send] = each[n % each.length]!;
    const { id } = tested[Math.floor(n / each.length) % tested.length]!;
    return { kind, send: () => send(id) };
  }).values();
  const answered = { ...none };
  const sender = async () => {
    for (const { kind, send } of waiting) {
      const { status } = await send();
      if (status < 400) answered[kind] += 1;
    }
  };
  await Promise.all(Array.from({ length: parallel }, sender));
  return answered;
}
