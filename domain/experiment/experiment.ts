import { hashText } from '../drawing/hash.ts';
import { probabilitiesBest } from './probability.ts';

/**
 * An experiment: a test group gets several versions of a campaign, and the rest gets the best one.
 */

/** One version of a campaign. If a part is null, the campaign's own is used. */
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
  /** Set only with the metric `event`. */
  eventName: string | null;
  /** Number of sent mails that each arm needs before the metric can decide. */
  minPerArm: number;
  /** Minimum probability of the winner, in percent; null: the highest rate wins. */
  minProbability: number | null;
  onTie: 'first' | 'manual';
}

export const experimentStates = ['DRAFT', 'TESTING', 'WAITING', 'DECIDED', 'CANCELLED'] as const;
export type ExperimentState = (typeof experimentStates)[number];

/**
 * Number of seconds after which a test counts as sent, although some of its mail may still wait.
 */
export const testSendingSecondsMax = 86_400;

/**
 * Maximum number of seconds that an experiment waits for a manual decision. Without a decision, the
 * first arm wins.
 */
export const manualSecondsMax = 30 * 86_400;

/** Number of slots over which the contacts of a campaign are spread evenly. */
const slots = 10_000;

/**
 * Returns the arm of a contact in the test group; null: the contact is not in the test group. Two
 * independent hashes decide, so the arm does not depend on the size of the test group.
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

/** The counts of one arm's mail. */
export interface ArmCounts {
  id: string;
  sent: number;
  hits: number;
}

export interface ArmNumbers extends ArmCounts {
  /** Hits in percent of the sent mail; 0 if none was sent. */
  rate: number;
  /** Probability in percent that this arm has the highest rate. */
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

/** Reasons why the counts of the arms do not decide an experiment. */
export const drawReasons = ['too_few', 'tie'] as const;
export type DrawReason = (typeof drawReasons)[number];

export const decisionReasons = ['metric', ...drawReasons, 'manual'] as const;
export type DecisionReason = (typeof decisionReasons)[number];

/**
 * Returns the arm that wins by these numbers, and why. If the numbers cannot decide, the first arm
 * wins.
 */
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

/**
 * Returns the state of an experiment.
 * @param run null: the test has not begun
 */
export function stateOf(
  campaignStatus: string,
  run: { decided_at: Date | null; waits_until: Date | null } | null,
): ExperimentState {
  if (run?.decided_at) return 'DECIDED';
  if (campaignStatus === 'CANCELLED') return 'CANCELLED';
  if (!run) return 'DRAFT';
  return run.waits_until ? 'WAITING' : 'TESTING';
}
