import { percentOf } from '../billing.ts';
import { escapeHtml } from '../template/html.ts';
import { withoutLinks } from '../text-rules.ts';

/**
 * The mails that Everpost sends to its users about their accounts. Text that other people chose,
 * such as a project's name, is changed so that no mail program turns it into a link. Otherwise an
 * inviter could name a project `Verify your account at https://evil.example`, in a mail that
 * readers trust.
 */

export interface AccountMail {
  subject: string;
  html: string;
}

export function verificationMail(link: string): AccountMail {
  return {
    subject: 'Verify your email address',
    html: letter(
      'Someone, hopefully you, created an account with this address. Verify it within an hour:',
      link,
      'Verify my address',
      'Open the link in the browser where you are logged in. If this was not you, do nothing.',
    ),
  };
}

export function passwordResetMail(link: string): AccountMail {
  return {
    subject: 'Choose a new password',
    html: letter(
      'A new password was requested for the account with this address. Choose it within an hour:',
      link,
      'Choose a new password',
      'If you did not ask for it, do nothing: your password stays as it is.',
    ),
  };
}

/** `by`: the address of the user who invites; null: an API key did it. */
export function invitationMail(given: {
  project: string;
  by: string | null;
  role: string;
  link: string;
}): AccountMail {
  const project = quoted(given.project);
  return {
    subject: `Invitation to the project ${project}`,
    html: letter(
      `${inviter(given.by)} invites you to the project ${project} with the role ${given.role}. You ` +
        'become a member when you log in and accept:',
      given.link,
      'Open Everpost',
      'If you do not know who invites you, do nothing.',
    ),
  };
}

/** `category`: as in the API, for example `campaigns`. */
export function limitWarningMail(given: {
  project: string;
  category: string;
  limit: number;
  usage: number;
  link: string;
}): AccountMail {
  const { category, limit, usage, link } = given;
  const project = quoted(given.project);
  return {
    subject: `The project ${project} has used ${Math.floor(percentOf(usage, limit))} % of its limit`,
    html: letter(
      `This month the project ${project} has used ${usage} of ${limit} emails (${category}). When the ` +
        'limit is reached, further emails of this category are refused until the end of the month (UTC).',
      link,
      'Open the limits',
    ),
  };
}

export function paymentFailedMail(given: { project: string; link: string }): AccountMail {
  const project = quoted(given.project);
  return {
    subject: `A payment for the project ${project} has failed`,
    html: letter(
      `The last invoice of the project ${project} could not be paid. We will try again. If the last try ` +
        'fails, too, the project is disabled.',
      given.link,
      'Open the payment',
    ),
  };
}

/** `host`: the host of the subscription's URL. */
export function subscriptionDisabledMail(given: {
  project: string;
  host: string;
  reason: 'gone' | 'failing';
  link: string;
}): AccountMail {
  const { host, reason, link } = given;
  const project = quoted(given.project);
  const why =
    reason === 'gone'
      ? 'its receiver answered 410 Gone, which means that it wants no more events.'
      : 'all its requests have failed for a long time.';
  return {
    subject: `Events of the project ${project} are not sent any more`,
    html: letter(
      `The project ${project} sent its events to ${withoutLinks(host)}. The event subscription is ` +
        `disabled, because ${why} Waiting events are skipped.`,
      link,
      'Open the project',
      'Enable it again when the receiver works.',
    ),
  };
}

/** `what`: the sender domain or the mail provider that the ramp warms up. */
export function rampStoppedMail(given: {
  project: string;
  what: string;
  stoppedFor: 'bounces' | 'complaints';
  rate: number;
  link: string;
}): AccountMail {
  const project = quoted(given.project);
  const rate = `${Math.round(given.rate * 100) / 100} %`;
  const what = given.stoppedFor === 'bounces' ? 'has bounced' : 'was reported as spam';
  return {
    subject: `A ramp of the project ${project} has stopped`,
    html: letter(
      `${rate} of the mail that the ramp for ${withoutLinks(given.what)} has counted ${what}. The ramp ` +
        'has stopped: its mail waits. Transactional mail still leaves.',
      given.link,
      'Open the project',
      'Remove the addresses that cause this, then resume the ramp.',
    ),
  };
}

/** `keys`: the names of the named keys that expire in `days` days. */
export function keysExpiringMail(given: {
  project: string;
  keys: readonly string[];
  days: number;
  link: string;
}): AccountMail {
  const { keys, days } = given;
  const project = quoted(given.project);
  const what = keys.length === 1 ? 'An API key' : `${keys.length} API keys`;
  const end = keys.length === 1 ? 'expires' : 'expire';
  const when = days === 1 ? 'in a day' : `in ${days} days`;
  return {
    subject: `${what} of the project ${project} ${end} ${when}`,
    html: letter(
      `${what} of the project ${project} ${end} ${when}: ${keys.map(quoted).join(', ')}. From then ` +
        'on, requests with it are refused.',
      given.link,
      'Open the project',
      'Give the key a later end, or give your programs another key.',
    ),
  };
}

/** `member`: the address of the person who was added, changed or removed. */
export function membersByKeyMail(given: {
  project: string;
  member: string;
  change: 'added' | 'invited' | 'changed' | 'removed';
  role: string;
  link: string;
}): AccountMail {
  const { change, role, link } = given;
  const project = quoted(given.project);
  const member = plainAddress(given.member) ?? 'a user';
  const what = {
    added: `added ${member} with the role ${role}`,
    invited: `invited ${member} with the role ${role}`,
    changed: `gave ${member} the role ${role}`,
    removed: `removed ${member}`,
  }[change];
  return {
    subject: `The members of the project ${project} were changed with its secret key`,
    html: letter(
      `A request with the secret key of the project ${project} ${what}.`,
      link,
      'Open the members',
      'If none of your programs does this, someone else has the key: regenerate the keys of ' +
        'the project, and remove members who do not belong to it.',
    ),
  };
}

/** `name`: the name that the user gave the factor. */
export function factorChangedMail(given: {
  change: 'added' | 'removed';
  name: string;
  link: string;
}): AccountMail {
  const { change, link } = given;
  const what = change === 'added' ? 'was added to' : 'was removed from';
  return {
    subject: `A second factor ${what} your account`,
    html: letter(
      `The second factor ${quoted(given.name)} ${what} your account.`,
      link,
      'Open Everpost',
      'If this was not you, end all sessions of your account and choose a new password.',
    ),
  };
}

export function breakGlassMail({
  what,
  link,
}: {
  what: 'issued' | 'used';
  link: string;
}): AccountMail {
  const text =
    what === 'issued'
      ? 'The operator of this server has made a link that logs in to your account once.'
      : 'The link to your account that the operator of this server has made was used.';
  return {
    subject: `A link to your account was ${what === 'issued' ? 'made' : 'used'} by the operator`,
    html: letter(text, link, 'Open Everpost', 'If you did not ask for it, ask the operator.'),
  };
}

export function recoveryCodeUsedMail(link: string): AccountMail {
  return {
    subject: 'A recovery code of your account was used',
    html: letter(
      'Someone, hopefully you, has logged in to your account with a recovery code.',
      link,
      'Open Everpost',
      'If this was not you, end all sessions of your account, choose a new password, and make new codes.',
    ),
  };
}

/** Returns a project's name in quotation marks, changed so that nothing in it becomes a link. */
function quoted(name: string): string {
  return `“${withoutLinks(name)}”`;
}

function inviter(address: string | null): string {
  return plainAddress(address) ?? 'An administrator';
}

/**
 * Returns an address that has only plain characters; null for any other text, which a mail program
 * could turn into a misleading link.
 */
function plainAddress(address: string | null): string | null {
  return address !== null && /^[\w.+-]+@[\w.-]+$/.test(address) ? address : null;
}

function letter(text: string, link: string, label: string, after = ''): string {
  return [
    `<p>${escapeHtml(text)}</p>`,
    `<p><a href="${escapeHtml(link)}">${escapeHtml(label)}</a></p>`,
    `<p>${escapeHtml(link)}</p>`,
    ...(after ? [`<p>${escapeHtml(after)}</p>`] : []),
  ].join('\n');
}
