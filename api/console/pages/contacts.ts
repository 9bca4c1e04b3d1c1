import type { z } from 'zod';
import { normaliseEmail } from '../../../domain/email-address.ts';
import { getContact, listContacts } from '../../contacts/contacts.ts';
import { getTimeline } from '../../contacts/timeline.ts';
import { listContactConsent } from '../../consent/log.ts';
import { listContactTopics } from '../../topics/contact-topics.ts';
import { findExecutions } from '../../executions/search.ts';
import { ask } from '../ask.ts';
import { type Html, html } from '../../html/html.ts';
import { type PageContext, projectPage } from '../page.ts';
import { facts, further, heading, moment, section, state, table } from '../parts.ts';
import { eraseForm } from './erasures.ts';
import { reasonText } from './mail/emails.ts';
import { executionTable } from './executions.ts';

const findByAddress = projectPage({
  id: 'findContactByAddress',
  path: '/contacts',
  at: '/contacts',
  summary: 'A contact by address',
  async show(context) {
    const { call } = context;
    const text = (call.query['email'] ?? '').trim();
    const isWhole = normaliseEmail(text) !== null;
    const query = isWhole ? { email: text } : { search: text, limit: '50' };
    const { data } = await ask(call, listContacts, { query });
    if (data[0] && data.length === 1) return showContact(context, data[0].id);
    const rows = data.map((contact) => [
      html`<a href="${context.path(`/contacts/${contact.id}`)}">${contact.email}</a>`,
      state(contact.subscribed ? 'SUBSCRIBED' : 'UNSUBSCRIBED'),
      moment(contact.createdAt),
    ]);
    return {
      title: 'Contacts',
      content: html`${heading(rows.length > 0 || text === '' ? 'Contacts' : 'No such contact')}
      ${section(text === '' ? 'Newest' : `With “${text}”`, table(['Address', 'State', 'Created'], rows, noneText(text, isWhole)))}`,
    };
  },
});

function noneText(text: string, isWhole: boolean): string {
  if (text === '') return 'This project has no contacts yet.';
  return isWhole
    ? `No contact of this project has the address “${text}”.`
    : `No contact of this project has “${text}” in its address.`;
}

const showContactById = projectPage({
  id: 'showContact',
  path: '/contacts/{id}',
  at: '/contacts',
  summary: 'A contact and its timeline',
  show: (context) => showContact(context, context.call.params['id'] ?? ''),
});

async function showContact({ call, token, path }: PageContext, id: string) {
  const { cursor } = call.query;
  const [contact, topics, consent, executions, timeline] = await Promise.all([
    ask(call, getContact, { params: { id } }),
    ask(call, listContactTopics, { params: { id } }),
    ask(call, listContactConsent, { params: { id } }),
    ask(call, findExecutions, { query: { contactId: id, limit: '10' } }),
    ask(call, getTimeline, {
      params: { id },
      query: { limit: '30', ...(cursor && { cursor }) },
    }),
  ]);
  const { email, subscribed, consent: asked, data, createdAt } = contact;
  const states = html`${state(subscribed ? 'SUBSCRIBED' : 'UNSUBSCRIBED')}${
    asked === 'pending' && html` ${state('PENDING')}`
  }`;
  return {
    title: email,
    content: html`${heading(email, states, eraseForm(token, path(`/contacts/${id}/erase`)))}
      <div class="columns">
        ${section(
          'Data',
          facts([
            ...Object.entries(data ?? {}).map(
              ([name, value]) =>
                [name, typeof value === 'string' ? value : JSON.stringify(value)] as const,
            ),
            ...(asked ? [['Confirmation', asked] as const] : []),
            ['Created', moment(createdAt)],
          ]),
        )}
        ${topics.length > 0 && section('Topics', topicTable(topics))}
        ${consent.length > 0 && section('Consent', consentTable(consent))}
        ${section('Executions', executionTable(executions.data, path, { isOfOne: true }))}
      </div>
      ${section('Timeline', html`${timelineList(timeline.data, path)}${further(timeline.cursor)}`)}`,
  };
}

function topicTable(topics: z.output<typeof listContactTopics.response>): Html {
  return table(
    ['Topic', 'State', 'Chosen'],
    topics.map(({ name, subscribed, changedAt }) => [
      name,
      state(subscribed ? 'SUBSCRIBED' : 'UNSUBSCRIBED'),
      moment(changedAt),
    ]),
    'No topics yet. Create one with POST /topics.',
  );
}

/** Maximum number of rows of the consent log on the page, newest first. */
const consentShown = 10;

function consentTable(lines: z.output<typeof listContactConsent.response>): Html {
  return table(
    ['Time', 'Change', 'Topic', 'Source', 'IP address'],
    lines
      .slice(-consentShown)
      .toReversed()
      .map(({ at, action, topic, source, ip }) => [
        moment(at),
        state(action),
        topic,
        source.replaceAll('_', ' '),
        ip,
      ]),
    'No consent recorded.',
  );
}

type Entry = Awaited<ReturnType<typeof ask<typeof getTimeline.response>>>['data'][number];

function timelineList(entries: readonly Entry[], path: PageContext['path']): Html {
  if (entries.length === 0) return html`<p class="soft">No events yet.</p>`;
  return html`<ol class="timeline">
    ${entries.map(
      ({ at, type, title, detail, links }) =>
        html`<li>
          ${moment(at)}<span class="soft">${type.replace('_', ' ')}</span
          ><span>${titled(title, links, path)}${reasonOf(detail)}${heldOf(detail)}</span>
        </li>`,
    )}
  </ol>`;
}

function titled(title: string, links: Entry['links'], path: PageContext['path']): Html {
  const { email, campaign, execution, workflow } = links;
  const mail = email && `/emails/${email}`;
  const cause =
    (campaign && `/campaigns/${campaign}`) ??
    (execution && workflow && `/workflows/${workflow}/executions/${execution}`) ??
    (workflow && `/workflows/${workflow}`);
  const link = (to: string, text: string) => html`<a href="${path(to)}">${text}</a>`;
  if (!mail) return cause ? link(cause, title) : html`${title}`;
  return html`${link(mail, title)}${cause && html` ${link(cause, campaign ? 'campaign' : 'execution')}`}`;
}

function reasonOf(detail: Record<string, unknown>): Html | false {
  const { reasonCode, error } = detail;
  const why = [
    ...(typeof reasonCode === 'string' ? [reasonText(reasonCode)] : []),
    ...(typeof error === 'string' && error !== reasonCode ? [error] : []),
  ];
  return why.length > 0 && html` <span class="soft">${why.join(' ')}</span>`;
}

function heldOf({ hold }: Record<string, unknown>): Html | false {
  if (!hold) return false;
  return html` <span class="soft">Until ${moment((hold as { until: string }).until)}.</span>`;
}

export const contactPages = [findByAddress, showContactById];
