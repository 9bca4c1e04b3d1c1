import { hashText } from '../drawing/hash.ts';
import { probabilitiesBest } from './probability.ts';

/** An experiment: a test group gets several versions of a campaign, and the rest gets the best one. */

/** One version of a campaign. A part that is null is that of the campaign. */
export interface Arm {
  id: string;
  name: string | null;
  subject: string | null;
  body: string | null;
  from: string | null;
  fromName: string | null;
  replyTo: string | null;
  templateId: string | null;
}

export const metrics = ['human_click', 'human_open', 'event'] as const;
export type Metric = (typeof metrics)[number];

/** The settings of an experiment. */
export interface Experiment {
  arms: Arm[];
  testPercent: number;
  decideAfterSeconds: number;
  metric: Metric;
  /** Only with the metric `event`. */
  eventName: string | null;
  /** Number of sent mails that each arm needs for a decision by the metric. */
  minPerArm: number;
  /** Percent; null: a higher rate suffices. */
  minProbability: number | null;
  onTie: 'first' | 'manual';
}

export const experimentStates = ['DRAFT', 'TESTING', 'WAITING', 'DECIDED', 'CANCELLED'] as const;
export type ExperimentState = (typeof experimentStates)[number];

/** Seconds from the start after which the test counts as sent, although some mail still waits. */
export const testSendingSecondsMax = 86_400;

/** Seconds that an experiment waits for a manual decision; then the first arm wins. */
export const manualSecondsMax = 30 * 86_400;

/** The contacts of a campaign are spread evenly over so many slots. */
const slots = 10_000;

/**
 * Returns the arm of a contact in the test group; null: the contact belongs to the rest. Two hashes
 * with different keys decide, so the arm does not depend on how large the test group is.
 */
export function armOf(
  { arms, testPercent }: Pick<Experiment, 'arms' | 'testPercent'>,
  campaignId: string,
  contactId: string,
): Arm | null {
  const slotOf = (key: string) => hashText(JSON.stringify([campaignId, key, contactId])) % slots;
  if (slotOf('test') >= (testPercent * slots) / 100) return null;
  return arms[Math.floor((slotOf('arm') * arms.length) / slots)]!;
}

/** Counts of the mail of an arm. */
export interface ArmCounts {
  id: string;
  sent: number;
  hits: number;
}

export interface ArmNumbers extends ArmCounts {
  /** Percent of the sent mail that had a hit; 0 if none was sent. */
  rate: number;
  /** Percent: chance that the rate of this arm is the highest. */
  probabilityBest: number;
}

export function numbersOf(counts: readonly ArmCounts[]): ArmNumbers[] {
  const chances = probabilitiesBest(counts);
  return counts.map(({ id, sent, hits }, index) => ({
    id,
    sent,
    hits,
    rate: sent === 0 ? 0 : (hits / sent) * 100,
    probabilityBest: chances[index]! * 100,
  }));
}

/** Why the numbers do not decide. */
export const drawReasons = ['too_few', 'tie'] as const;
export type DrawReason = (typeof drawReasons)[number];

export const decisionReasons = ['metric', ...drawReasons, 'manual'] as const;
export type DecisionReason = (typeof decisionReasons)[number];

/** Returns the arm that wins by these numbers, and why. If they do not decide, it is the first arm. */
export function winnerOf(
  { minPerArm, minProbability }: Pick<Experiment, 'minPerArm' | 'minProbability'>,
  numbers: readonly ArmNumbers[],
): { arm: string; by: 'metric' | DrawReason } {
  const first = numbers[0]!.id;
  if (numbers.some(({ sent }) => sent < minPerArm)) return { arm: first, by: 'too_few' };
  const [best, second] = [...numbers].sort((one, other) => other.rate - one.rate);
  const isClear =
    best!.rate > (second?.rate ?? -1) && best!.probabilityBest >= (minProbability ?? 0);
  return isClear ? { arm: best!.id, by: 'metric' } : { arm: first, by: 'tie' };
}

/** Returns the state of an experiment. */
export function stateOf(
  campaignStatus: string,
  run: { decided_at: Date | null; waits_until: Date | null } | null,
): ExperimentState {
  if (run?.decided_at) return 'DECIDED';
  if (campaignStatus === 'CANCELLED') return 'CANCELLED';
  if (!run) return 'DRAFT';
  return run.waits_until ? 'WAITING' : 'TESTING';
}
