import type { StepExecution } from '../../api/api.ts';
import { counted } from '../numbers.ts';
import { duration, fullTime } from '../times.ts';
import type { Tone } from '../tone.ts';
import { ended } from './execution.ts';

/** States of the steps of an execution in words. */
export const stepStates: Record<StepExecution['status'], { text: string; tone: Tone }> = {
  PENDING: { text: 'Waiting', tone: 'neutral' },
  SCHEDULED: { text: 'Scheduled', tone: 'neutral' },
  RUNNING: { text: 'Running', tone: 'neutral' },
  WAITING: { text: 'Waiting', tone: 'neutral' },
  COMPLETED: { text: 'Completed', tone: 'good' },
  FAILED: { text: 'Failed', tone: 'bad' },
  SKIPPED: { text: 'Skipped', tone: 'warning' },
};

/** Facts about a step that are not in its row. */
export interface StepFacts {
  /** The settings of the step in the version of the execution. */
  config: Record<string, unknown>;
  /** Explanation in words: what the step waits for, or why it took its branch. */
  explanation: string | null;
  /**
   * When the wait of the execution at this step ends; null: the execution does not wait at this
   * step.
   */
  waitsUntil: string | null;
  /** When the next step began; null: the next step has not begun. */
  leftAt: string | null;
}

/** Returns in a sentence what a step has done, or what it waits for. */
export function stepSentence(row: StepExecution, facts: StepFacts): string {
  switch (row.status) {
    case 'PENDING':
      return 'It is about to begin.';
    case 'SCHEDULED':
      return row.scheduledFor
        ? `It begins on ${fullTime(row.scheduledFor)}.`
        : 'It is about to begin.';
    case 'SKIPPED':
      return 'It was skipped.';
    case 'FAILED':
      return ended(row.error ?? 'It failed');
    default:
      return ended(sentences[row.step.type](row.output ?? {}, row, facts));
  }
}

type Output = Record<string, unknown>;

const subscriptions: Record<string, string> = {
  subscribe: 'subscribed the contact',
  unsubscribe: 'unsubscribed the contact',
};

const text = (value: unknown): string => (typeof value === 'string' ? value : '');

const sentences: Record<
  StepExecution['step']['type'],
  (output: Output, row: StepExecution, facts: StepFacts) => string
> = {
  TRIGGER({ eventName }) {
    if (eventName === 'manual') return 'It was started by hand';
    if (eventName === 'schedule') return 'Its schedule started it';
    return `The event ${text(eventName)} started it`;
  },
  SEND_EMAIL({ emailId, recipientEmail }, { status }) {
    if (status !== 'COMPLETED') return 'Its mail is being made';
    if (emailId === null) return `There was no mail for ${text(recipientEmail)}`;
    return `A mail to ${text(recipientEmail)} was put into the queue`;
  },
  DELAY({ past, untilField }, { startedAt }, { waitsUntil, leftAt }) {
    if (past === true) return `It did not wait: ${text(untilField)} has no date that is to come`;
    if (waitsUntil !== null) return `It waits until ${fullTime(waitsUntil)}`;
    return startedAt && leftAt ? `It waited ${timeBetween(startedAt, leftAt)}` : 'It has waited';
  },
  WAIT_FOR_EVENT({ waitOutcome, ...output }, { status, executeAfter }, { explanation, config }) {
    const eventName = text(output['eventName']) || text(config['eventName']);
    if (waitOutcome === 'EVENT') return `The event ${eventName} came`;
    if (waitOutcome === 'TIMEOUT') return `The event ${eventName} did not come in time`;
    const what = explanation ?? `waits for the event ${eventName || 'of its settings'}`;
    if (status !== 'WAITING') return `It ${what}`;
    return `It ${what}, ${executeAfter ? `until ${fullTime(executeAfter)} at the latest` : 'without limit'}`;
  },
  DIGEST(_, { status, executeAfter }, { explanation }) {
    const end = status === 'WAITING' && executeAfter ? `, until ${fullTime(executeAfter)}` : '';
    return `It ${explanation ?? 'collects events'}${end}`;
  },
  CONDITION: ({ branch }, _, { explanation }) =>
    `${explanation ? `${ended(explanation)} ` : ''}It took the branch ${text(branch)}`,
  SPLIT: ({ name }, _, { explanation }) => `It ${explanation ?? `drew the arm ${text(name)}`}`,
  WEBHOOK(output) {
    const { method, url, success, statusCode, attempts, error, nextAttemptAt } = output;
    const call = `${text(method)} ${text(url)}`.trim();
    const answer = typeof statusCode === 'number' ? `answered ${statusCode}` : 'did not answer';
    if (typeof nextAttemptAt === 'string')
      return `${call} ${answer}. It is tried again on ${fullTime(nextAttemptAt)}`;
    if (success === undefined) return 'It is being called';
    if (success === true) return `${call} ${answer}`;
    return `${call} failed after ${counted(Number(attempts), 'attempt')}: ${text(error)}`;
  },
  UPDATE_CONTACT({ updates, subscriptionAction }) {
    const keys = Object.keys((updates as object | null | undefined) ?? {}).join(', ');
    const changes = [keys && `changed ${keys}`, subscriptions[text(subscriptionAction)]];
    return `It ${changes.filter(Boolean).join(' and ') || 'changes the contact'}`;
  },
  EXIT: ({ reason }) =>
    text(reason) ? `It ended the execution: ${text(reason)}` : 'It ended the execution',
};

function timeBetween(from: string, to: string): string {
  return duration(Math.max(0, (Date.parse(to) - Date.parse(from)) / 1000));
}
