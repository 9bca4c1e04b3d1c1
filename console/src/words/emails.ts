import type { Email } from '../api/api.ts';
import { textOfReason } from './reasons.ts';
import { fullTime } from './times.ts';
import type { Tone } from './tone.ts';

/** States of mail in words. */
export const emailStates: Record<Email['status'], { text: string; tone: Tone }> = {
  PENDING: { text: 'Waits', tone: 'neutral' },
  SENDING: { text: 'Sending', tone: 'neutral' },
  SENT: { text: 'Sent', tone: 'good' },
  DELIVERED: { text: 'Delivered', tone: 'good' },
  OPENED: { text: 'Opened', tone: 'good' },
  CLICKED: { text: 'Clicked', tone: 'good' },
  BOUNCED: { text: 'Bounced', tone: 'bad' },
  COMPLAINED: { text: 'Complained', tone: 'bad' },
  FAILED: { text: 'Not sent', tone: 'bad' },
  RECEIVED: { text: 'Received', tone: 'neutral' },
};

/** Sources of mail in words. */
export const emailSources: Record<Email['sourceType'], string> = {
  TRANSACTIONAL: 'Request to /v1/send',
  CAMPAIGN: 'Campaign',
  WORKFLOW: 'Workflow',
  INBOUND: 'Received',
};

type TraceEntry = Email['trace'][number];

const sentences: Record<TraceEntry['state'], string> = {
  queued: 'It was accepted and put into the queue.',
  rendered_plainly: 'Its template could not be rendered, so it is sent with plain placeholders.',
  scheduled: 'It has a time at which it is to be sent.',
  held: 'It is held back for now.',
  throttled: 'It waits for a sending limit.',
  routed: 'A route has chosen its mail provider.',
  handed_over: 'It was given to the mail provider.',
  accepted: 'The mail provider accepted it.',
  refused: 'The mail provider refused it.',
  uncertain: 'The mail provider did not answer, so it is not known if it was sent.',
  settled: 'Its outcome was found out later.',
  delivered: 'The server of the recipient took it.',
  delayed: 'The server of the recipient has not taken it yet.',
  opened: 'It was opened.',
  clicked: 'A link in it was clicked.',
  bounced: 'It came back.',
  complained: 'The recipient reported it as spam.',
  withheld: 'It was not sent.',
  released: 'It is no longer held back.',
  retried: 'It is tried again.',
};

/** Returns an entry of a trace as a sentence, with its reason or time if present. */
export function traceSentence({ state, detail }: TraceEntry): string {
  const { reason, until, providerId } = detail ?? {};
  const why = typeof reason === 'string' ? ` ${textOfReason(reason)}` : '';
  const time = typeof until === 'string' ? ` Until ${fullTime(until)}.` : '';
  const by = typeof providerId === 'string' ? ` Provider: ${providerId}.` : '';
  return sentences[state] + why + time + by;
}
