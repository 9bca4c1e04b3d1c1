import type { z } from 'zod';
import { getRequest, getRequests } from '../../requests/requests.ts';
import { type Html, html } from '../../html/html.ts';
import { ask } from '../ask.ts';
import { type PageContext, projectPage } from '../page.ts';
import {
  actorText,
  facts,
  further,
  heading,
  searchForm,
  second,
  section,
  state,
  table,
} from '../parts.ts';

type Listed = z.output<typeof getRequests.response>['data'][number];

/** The filters on the page, with the labels of their fields. */
const filters = [
  ['status', 'Status, such as 422 or 4xx'],
  ['route', 'Path, such as /v1/send'],
  ['errorCode', 'Error code'],
  ['keyId', 'Key id'],
] as const;
/**
 * All filters of the list. Links to this page may also use filters that the page has no fields for.
 */
const kept = [...filters.map(([name]) => name), 'method', 'userId', 'ip', 'minMs', 'idempotency'];

const showRequests = projectPage({
  id: 'showRequests',
  path: '/requests',
  at: '/requests',
  summary: 'The requests of a project, with filters',
  async show({ call, path }) {
    const { cursor } = call.query;
    const given = Object.fromEntries(
      kept.flatMap((name) => (call.query[name] ? [[name, call.query[name]]] : [])),
    );
    const query = { ...given, ...(cursor && { cursor }), limit: '50' };
    const requests = await ask(call, getRequests, { query });
    const isOff = call.config.requestLog.days === 0;
    return {
      title: 'Requests',
      content: html`${heading('Requests', html`<span class="acts"><a href="?">All</a> <a href="?status=4xx">Refused</a> <a href="?status=5xx">Failed</a></span>`)}
      ${section('Search', searchForm(filters, given))}
      ${section('Newest first', html`${requestTable(requests.data, path, isOff)}${further(requests.cursor, given)}`)}`,
    };
  },
});

function requestTable(
  requests: readonly Listed[],
  path: PageContext['path'],
  isOff: boolean,
): Html {
  return table(
    ['Time', 'Request', 'Status', 'Error', 'By', 'Milliseconds#'],
    requests.map((request) => [
      html`<a href="${path(`/requests/${encodeURIComponent(request.requestId)}`)}"
        >${second(request.at)}</a
      >`,
      html`<code>${nameOf(request)}</code>`,
      statusOf(request),
      request.errorCode && html`<code>${request.errorCode}</code>`,
      actorText(request.actor),
      String(request.ms),
    ]),
    isOff ? 'This server keeps no request log: REQUEST_LOG_DAYS is 0.' : 'No requests.',
  );
}

const showRequest = projectPage({
  id: 'showRequest',
  path: '/requests/{requestId}',
  at: '/requests',
  summary: 'A request, with its error',
  async show({ call }) {
    const { requestId = '' } = call.params;
    const request = await ask(call, getRequest, { params: { requestId } });
    const { errorCode, actor, ip, idempotency, sample, errors, details } = request;
    return {
      title: nameOf(request),
      content: html`${heading(nameOf(request), statusOf(request))}
      ${section(
        'Request',
        facts([
          ['Id', html`<code>${requestId}</code>`],
          ['Time', second(request.at)],
          ['Milliseconds', String(request.ms)],
          ['By', actorText(actor)],
          ['Address', ip],
          ...(idempotency ? [['Idempotency key', idempotency] as const] : []),
          ...(sample > 1 ? [['Sample', `one of ${sample}`] as const] : []),
        ]),
      )}
      ${
        errorCode &&
        section(
          'Error',
          html`<p><code>${errorCode}</code></p>
            ${errors && table(['Field', 'Code'], fieldRows(errors), '')}
            ${details && html`<p><code>${JSON.stringify(details)}</code></p>`}`,
        )
      }`,
    };
  },
});

function fieldRows(errors: readonly { field: string; code: string }[]) {
  return errors.map(({ field, code }) => [
    html`<code>${field || 'the body'}</code>`,
    html`<code>${code}</code>`,
  ]);
}

function nameOf({ method, route }: Pick<Listed, 'method' | 'route'>): string {
  return `${method} ${route ?? '(unknown path)'}`;
}

function statusOf({ status }: Pick<Listed, 'status'>): Html {
  if (status < 400) return html`${String(status)}`;
  return html`${String(status)} ${state(status < 500 ? 'REFUSED' : 'FAILED')}`;
}

export const requestPages = [showRequests, showRequest];
