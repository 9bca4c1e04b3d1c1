import type { z } from 'zod';
import { getEmail } from '../../../emails/emails.ts';
import { ask } from '../../ask.ts';
import { absenceTexts } from '../../../../domain/campaign/campaign.ts';
import { reasonTexts } from '../../../../domain/outcomes/outcome.ts';
import { html } from '../../../html/html.ts';
import { type PageContext, projectPage } from '../../page.ts';
import { actorText, facts, heading, moment, section, state, table } from '../../parts.ts';

type Email = z.output<typeof getEmail.response>;

const showEmail = projectPage({
  id: 'showEmail',
  path: '/emails/{id}',
  at: '/contacts',
  summary: 'An email and its history',
  async show({ call, path }) {
    const { id = '' } = call.params;
    const email = await ask(call, getEmail, { params: { id } });
    const { toEmail, subject, status, hold, error, trace, body } = email;
    return {
      title: subject,
      // The frame inherits the policy: styles of the mail are shown, its images are not loaded.
      styles: "'unsafe-inline'",
      content: html`${heading(subject, state(status))}
      ${section(
        'Mail',
        facts([
          ['To', html`<a href="${path(`/contacts/${email.contactId}`)}">${toEmail}</a>`],
          ['From', email.fromName ? `${email.fromName} <${email.from}>` : email.from],
          ...originOf(email, path),
          ['Caused by', actorText(email.causedBy)],
          ...(email.reasonCode === null ? [] : [['Reason', reasonText(email.reasonCode)] as const]),
          ...(hold ? [['Waits', html`until ${moment(hold.until)}`] as const] : []),
          ...(isProviderText(email) ? [['Error', error] as const] : []),
        ]),
      )}
      ${section(
        'History',
        table(
          ['Time', 'State', 'Reason'],
          trace.map(({ at, state: name, detail }) => [
            moment(at),
            state(name),
            detail && name !== 'queued' && html`<code>${JSON.stringify(detail)}</code>`,
          ]),
          'No events yet.',
        ),
      )}
      ${section(
        'Content',
        body === null
          ? html`<p class="soft">
              The content is not stored. Either it is not rendered yet, or it was deleted after the
              retention period, or the worker died before it could be recorded.
            </p>`
          : html`<iframe class="preview" title="The message" sandbox srcdoc="${body}"></iframe>`,
      )}`,
    };
  },
});

/** Returns the source of a mail: a link to its campaign, or a text for an execution. */
function originOf({ campaignId, workflowExecutionId }: Email, path: PageContext['path']) {
  if (campaignId) {
    return [
      ['Source', html`<a href="${path(`/campaigns/${campaignId}`)}">a campaign</a>`],
    ] as const;
  }
  return workflowExecutionId ? ([['Source', 'an execution of a workflow']] as const) : [];
}

/** Returns a sentence for the reason; an unknown code is shown unchanged. */
export function reasonText(code: string): string {
  const texts: Readonly<Record<string, string | undefined>> = { ...reasonTexts, ...absenceTexts };
  return texts[code] ?? code.replaceAll('_', ' ');
}

/** Shows why a mail was not sent or not delivered: the reason, and the text of the provider. */
export function whyNot(mail: Pick<Email, 'outcome' | 'reasonCode' | 'error'>): string {
  const { reasonCode, error } = mail;
  const text = isProviderText(mail) ? (error ?? '') : '';
  return reasonCode === null ? text : `${reasonText(reasonCode)} ${text}`.trim();
}

/**
 * Returns true if the error is a text of the provider. If the mail was not given to the provider,
 * the error is only the code of the reason.
 */
function isProviderText({ reasonCode, error }: Pick<Email, 'reasonCode' | 'error'>): boolean {
  return error !== null && error !== reasonCode;
}

export const emailPages = [showEmail];
