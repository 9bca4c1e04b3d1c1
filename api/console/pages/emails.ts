import type { z } from 'zod';
import { getEmail } from '../../emails/emails.ts';
import { ask } from '../ask.ts';
import { type Html, html } from '../../pages/html.ts';
import { type PageContext, projectPage } from '../page.ts';
import { facts, heading, moment, section, state, table } from '../parts.ts';

type Email = z.output<typeof getEmail.response>;

const showEmail = projectPage({
  id: 'showEmail',
  path: '/emails/{id}',
  at: '/contacts',
  summary: 'A mail, and all that it went through',
  async show({ call, path }) {
    const { id = '' } = call.params;
    const email = await ask(call, getEmail, { params: { id } });
    const { toEmail, subject, status, hold, error, trace, body } = email;
    return {
      title: subject,
      // The frame inherits the policy: the mail's own styles are shown, its images are not loaded.
      styles: "'unsafe-inline'",
      content: html`${heading(subject, state(status))}
      ${section(
        'Mail',
        facts([
          ['To', html`<a href="${path(`/contacts/${email.contactId}`)}">${toEmail}</a>`],
          ['From', email.fromName ? `${email.fromName} <${email.from}>` : email.from],
          ...originOf(email, path),
          ...(hold ? [['Waits', holdText(hold)] as const] : []),
          ...(error ? [['Error', error.replaceAll('_', ' ')] as const] : []),
        ]),
      )}
      ${section(
        'What it went through',
        table(
          ['When', 'State', 'Why'],
          trace.map(({ at, state: name, detail }) => [
            moment(at),
            state(name),
            detail && html`<code>${JSON.stringify(detail)}</code>`,
          ]),
          'Nothing yet.',
        ),
      )}
      ${section(
        'Its text',
        body === null
          ? html`<p class="soft">It is not there: not yet, or not any more.</p>`
          : html`<iframe class="preview" title="The message" sandbox srcdoc="${body}"></iframe>`,
      )}`,
    };
  },
});

/** The campaign or execution that a mail is of. */
function originOf({ campaignId, workflowExecutionId }: Email, path: PageContext['path']) {
  if (campaignId) {
    return [['Of', html`<a href="${path(`/campaigns/${campaignId}`)}">a campaign</a>`]] as const;
  }
  return workflowExecutionId ? ([['Of', 'an execution of a workflow']] as const) : [];
}

const holdReasons = {
  schedule: 'as it was asked',
  retry: 'to be tried again',
  quiet_hours: 'for the end of quiet hours',
  frequency_cap: 'until the contact may get mail again',
} as const;

/** Why a mail waits, and until when. */
export function holdText({ reason, until }: NonNullable<Email['hold']>): Html {
  return html`until ${moment(until)}, ${holdReasons[reason]}`;
}

export const emailPages = [showEmail];
