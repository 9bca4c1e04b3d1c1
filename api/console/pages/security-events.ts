import type { z } from 'zod';
import { exportSecurityEvents, getSecurityEvents } from '../../security-events/security-events.ts';
import { answer, endpoint } from '../../http/endpoint.ts';
import { type Html, html } from '../../html/html.ts';
import { ask, askAs, type MemberCall } from '../ask.ts';
import { type PageContext, pageOptions, projectPage, refuseRepeated } from '../page.ts';
import {
  actorText,
  detailText,
  further,
  heading,
  searchForm,
  second,
  section,
  table,
} from '../parts.ts';

type Listed = z.output<typeof getSecurityEvents.response>['data'][number];

const filters = [
  ['event', 'Event, such as member.*'],
  ['actorId', 'Id of a user or key'],
  ['targetId', 'Id of a record'],
  ['from', 'From, such as 2026-01-31T09:00:00Z'],
  ['to', 'To (UTC)'],
] as const;

const given = (query: Readonly<Record<string, string>>) =>
  Object.fromEntries(filters.flatMap(([name]) => (query[name] ? [[name, query[name]]] : [])));

const showSecurityEvents = projectPage({
  id: 'showSecurityEvents',
  path: '/security-events',
  at: '/security-events',
  summary: 'The security log of a project, with filters',
  async show({ call, path }) {
    const { cursor } = call.query;
    const search = given(call.query);
    const query = { ...search, ...(cursor && { cursor }), limit: '50' };
    const events = await ask(call, getSecurityEvents, { query });
    return {
      title: 'Security log',
      content: html`${heading('Security log', exportLink(path, search))}
      ${section('Search', searchForm(filters, search))}
      ${section('Newest first', html`${eventTable(events.data)}${further(events.cursor, search)}`)}`,
    };
  },
});

function exportLink(path: PageContext['path'], search: Record<string, string>): Html {
  const query = new URLSearchParams(search).toString();
  return html`<a href="${path(`/security-events/export?${query}`)}">Export as NDJSON</a>`;
}

function eventTable(events: readonly Listed[]): Html {
  return table(
    ['Time', 'Event', 'By', 'Record', 'Changes', 'Address'],
    events.map(({ at, event, count, actor, target, changes, details, ip }) => [
      second(at),
      html`<code>${event}</code>${count > 1 && ` × ${count}`}`,
      actorText(actor),
      target && html`${target.type.replaceAll('_', ' ')} <code>${target.id}</code>`,
      changes ? changeList(changes) : detailText(details),
      ip,
    ]),
    'No events.',
  );
}

function changeList(changes: NonNullable<Listed['changes']>): Html {
  return html`<ul>
    ${changes.map(
      ({ field, before, after }) =>
        html`<li><code>${field}</code> ${valueText(before)} → ${valueText(after)}</li>`,
    )}
  </ul>`;
}

function valueText(value: unknown): string {
  if (value === null || value === undefined) return '–';
  return typeof value === 'string' ? value : JSON.stringify(value);
}

/**
 * Downloads the export as a file. A browser needs this path, because it cannot send the header
 * X-Project-Id.
 */
const downloadSecurityEvents = endpoint({
  ...pageOptions,
  id: 'downloadSecurityEvents',
  method: 'GET',
  path: '/console/{projectId}/security-events/export',
  summary: 'The security log of a project, as a file',
  description: 'A part of a page for people, see GET /console.',
  role: 'ADMIN',
  contentType: 'application/x-ndjson',
  async handle(context) {
    const call = context as unknown as MemberCall;
    refuseRepeated(call.query);
    const query = given(call.query);
    const { options } = await askAs(call, call.member, exportSecurityEvents, { query });
    const headers = { 'Content-Disposition': 'attachment; filename="security-log.ndjson"' };
    return answer('', { ...options, headers });
  },
});

export const securityEventPages = [showSecurityEvents, downloadSecurityEvents];
