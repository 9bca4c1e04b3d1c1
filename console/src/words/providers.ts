import type { Ramp, SmtpProvider } from '../api/api.ts';
import { counted } from './numbers.ts';
import type { Tone } from './tone.ts';

export const providerKinds = { smtp: 'SMTP server', ses: 'Amazon SES', mailbox: 'Local mailbox' };

/** States of mail providers in words. */
export const providerStates: Record<SmtpProvider['state'], { text: string; tone: Tone }> = {
  up: { text: 'Takes mail', tone: 'good' },
  down: { text: 'Takes no mail now', tone: 'bad' },
  disabled: { text: 'Disabled', tone: 'neutral' },
};

/** How a provider reports what became of mail. */
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

/** How a connection is encrypted. */
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

/** States of warm-ups in words. */
export function rampState({ status, stoppedFor }: Ramp): { text: string; tone: Tone } {
  if (status === 'RUNNING') return { text: 'Running', tone: 'good' };
  if (status === 'PAUSED') return { text: 'Paused', tone: 'warning' };
  if (status === 'DONE') return { text: 'Done', tone: 'neutral' };
  return { text: `Stopped for ${stoppedFor ?? 'its rates'}`, tone: 'bad' };
}

/** What happens to mail over the limit of a warm-up. */
export const rampOvers: Record<Ramp['over'], string> = {
  hold: 'It waits for the next day',
  next: 'It leaves by the next provider of its route',
};

/** What a warm-up does, in a sentence. */
export function rampSentence({
  startPerDay,
  factor,
  days,
}: Pick<Ramp, 'startPerDay' | 'factor' | 'days'>): string {
  const last = Math.floor(startPerDay * factor ** (days - 1));
  if (!Number.isFinite(last) || days < 1) return '';
  return `${counted(startPerDay, 'mail')} on the first day, ${counted(last, 'mail')} on day ${days}; then there is no limit.`;
}
