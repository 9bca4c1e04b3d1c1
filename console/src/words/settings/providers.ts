import type { Ramp, SmtpProvider } from '../../api/api.ts';
import { counted } from '../numbers.ts';
import type { Tone } from '../tone.ts';

export const providerKinds = { smtp: 'SMTP server', ses: 'Amazon SES', mailbox: 'Local mailbox' };

/** States of mail providers in words. */
export const providerStates: Record<SmtpProvider['state'], { text: string; tone: Tone }> = {
  up: { text: 'Takes mail', tone: 'good' },
  down: { text: 'Takes no mail now', tone: 'bad' },
  disabled: { text: 'Disabled', tone: 'neutral' },
};

/** The ways in which providers report the results of mail. */
export const feedbackNames: Record<SmtpProvider['feedback'] | 'mailbox', string> = {
  dsn: 'By mail to the return path',
  postmark: 'Postmark',
  mailgun: 'Mailgun',
  sendgrid: 'SendGrid',
  brevo: 'Brevo',
  mailjet: 'Mailjet',
  resend: 'Resend',
  ses: 'Amazon SES',
  mailbox: 'The mailbox itself',
  none: 'Not at all',
};

/** Kinds of encryption of a connection. */
export const securityNames: Record<SmtpProvider['security'], string> = {
  starttls: 'STARTTLS',
  tls: 'TLS from the beginning',
  none: 'Not encrypted',
};

const stages = {
  connect: 'The server could not be reached.',
  tls: 'The connection could not be encrypted.',
  auth: 'The server refused the user or the password.',
  sender: 'The server refused the sender.',
  recipient: 'The server refused the recipient.',
  data: 'The server refused the message.',
};

/** The result of a test in a sentence, with the words of the server. */
export function testSentence({
  ok,
  stage,
  ms,
  code,
  message,
}: {
  ok: boolean;
  stage: keyof typeof stages | null;
  ms: number;
  code: number | null;
  message: string | null;
}): string {
  const server = [code, message].filter((part) => part !== null).join(' ');
  if (ok) return `It works: connected and logged in within ${ms} ms.`;
  return [stage && stages[stage], server && `It said: ${server}`].filter(Boolean).join(' ');
}

/** Returns the uses of a provider, from the details of the error 409. */
export function providerUses(details: Record<string, unknown>): string {
  const { routes = 0, ramps = 0, sending = 0, unknown = 0 } = details as Record<string, number>;
  const uses = [
    routes > 0 && counted(routes, 'route'),
    ramps > 0 && counted(ramps, 'warm-up'),
    sending > 0 && `${counted(sending, 'mail')} being sent`,
    unknown > 0 && `${counted(unknown, 'mail')} with unknown outcome`,
  ];
  return `It is in use: ${uses.filter(Boolean).join(', ')}.`;
}

/** States of warm-ups in words. */
export function rampState({ status, stoppedFor }: Ramp): { text: string; tone: Tone } {
  if (status === 'RUNNING') return { text: 'Running', tone: 'good' };
  if (status === 'PAUSED') return { text: 'Paused', tone: 'warning' };
  if (status === 'DONE') return { text: 'Done', tone: 'neutral' };
  return { text: `Stopped for ${stoppedFor ?? 'its rates'}`, tone: 'bad' };
}

/** Treatment of mail over the limit of a warm-up. */
export const rampOvers: Record<Ramp['over'], string> = {
  hold: 'It waits for the next day',
  next: 'It leaves by the next provider of its route',
};

/** Explains a warm-up in a sentence. */
export function rampSentence({
  startPerDay,
  factor,
  days,
}: Pick<Ramp, 'startPerDay' | 'factor' | 'days'>): string {
  const last = Math.floor(startPerDay * factor ** (days - 1));
  if (!Number.isFinite(last) || days < 1) return '';
  return `${counted(startPerDay, 'mail')} on the first day, ${counted(last, 'mail')} on day ${days}; then there is no limit.`;
}

type SkipReason = 'disabled' | 'domain_not_allowed' | 'too_large' | 'down' | 'refused' | 'ramp';

/** Why a provider would not take a mail, one sentence per code. */
export const skipReasons: Record<SkipReason, string> = {
  disabled: 'It is disabled.',
  domain_not_allowed: 'It may not send for this domain.',
  too_large: 'The mail is too large for it.',
  down: 'It takes no mail now.',
  refused: 'It refused the mail.',
  ramp: 'Its warm-up has no room today.',
};
