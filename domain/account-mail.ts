import { escapeHtml } from './html.ts';

/** The mails Everpost itself writes to its users. */

export interface AccountMail {
  subject: string;
  /** A fragment of HTML. */
  html: string;
}

export function verificationMail(link: string): AccountMail {
  return {
    subject: 'Verify your email address',
    html: letter(
      'Somebody, hopefully you, made an account with this address. Verify it within an hour:',
      link,
      'Verify my address',
      'Follow the link where you are logged in. If it was not you, do nothing.',
    ),
  };
}

export function passwordResetMail(link: string): AccountMail {
  return {
    subject: 'Choose a new password',
    html: letter(
      'A new password was asked for the account with this address. Choose it within an hour:',
      link,
      'Choose a new password',
      'If you did not ask for it, do nothing: your password stays as it is.',
    ),
  };
}

export function membershipMail(given: { project: string; by: string; link: string }): AccountMail {
  return {
    subject: `You are now a member of ${given.project}`,
    html: letter(
      `${given.by} has made you a member of the project ${given.project}.`,
      given.link,
      'Open the project',
    ),
  };
}

/** `category` in the words of the API: `campaigns` and so on. */
export function limitWarningMail(given: {
  project: string;
  category: string;
  limit: number;
  usage: number;
  link: string;
}): AccountMail {
  const { project, category, limit, usage, link } = given;
  return {
    subject: `${project} has used ${Math.floor((usage / limit) * 100)} % of its limit`,
    html: letter(
      `This month ${project} has used ${usage} of ${limit} emails (${category}). When none are ` +
        'left, further mail of this kind is refused until the month ends.',
      link,
      'Look at the limits',
    ),
  };
}

export function paymentFailedMail(given: { project: string; link: string }): AccountMail {
  return {
    subject: `A payment for ${given.project} has failed`,
    html: letter(
      `The last invoice of ${given.project} could not be paid. We will try again. If the last try ` +
        'fails, too, the project is disabled.',
      given.link,
      'Look at the payment',
    ),
  };
}

function letter(text: string, link: string, label: string, after = ''): string {
  return [
    `<p>${escapeHtml(text)}</p>`,
    `<p><a href="${escapeHtml(link)}">${escapeHtml(label)}</a></p>`,
    `<p>${escapeHtml(link)}</p>`,
    ...(after ? [`<p>${escapeHtml(after)}</p>`] : []),
  ].join('\n');
}
