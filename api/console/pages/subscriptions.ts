import type { z } from 'zod';
import { getDeliveries, retryOne } from '../../subscriptions/deliveries.ts';
import { replayEvents } from '../../subscriptions/replays.ts';
import {
  getSubscription,
  getSubscriptions,
  patchSubscription,
} from '../../subscriptions/subscriptions.ts';
import { ask } from '../ask.ts';
import { type Html, html } from '../../html/html.ts';
import { type PageContext, projectAct, projectPage } from '../page.ts';
import {
  actForm,
  actorText,
  count,
  facts,
  figures,
  further,
  heading,
  moment,
  section,
  state,
  table,
} from '../parts.ts';

type Subscription = z.output<typeof getSubscriptions.response>[number];
type Delivery = z.output<typeof getDeliveries.response>['data'][number];

/** Milliseconds that the replay button covers: the last 24 hours. */
const replayedMs = 86_400_000;

const showSubscriptions = projectPage({
  id: 'showSubscriptions',
  path: '/subscriptions',
  at: '/subscriptions',
  summary: 'The event subscriptions of a project',
  async show({ call, path }) {
    const subscriptions = await ask(call, getSubscriptions);
    const rows = subscriptions.map((subscription) => [
      html`<a href="${path(`/subscriptions/${subscription.id}`)}">${subscription.url}</a>`,
      stateOf(subscription),
      subscription.events.join(', '),
      moment(subscription.failingSince),
    ]);
    return {
      title: 'Subscriptions',
      content: html`${heading('Event subscriptions')}
      ${section('All', table(['Address', 'State', 'Events', 'Failing since'], rows, 'No event subscriptions yet. Create one with POST /event-subscriptions.'))}`,
    };
  },
});

function stateOf({ enabled, paused, failingSince }: Subscription): Html {
  return html`${state(enabled ? 'ENABLED' : 'DISABLED')} ${paused && state('PAUSED')}
  ${failingSince && state('FAILING')}`;
}

const showSubscription = projectPage({
  id: 'showSubscription',
  path: '/subscriptions/{id}',
  at: '/subscriptions',
  summary: 'An event subscription and its deliveries',
  async show({ call, token, path }) {
    const { id = '' } = call.params;
    const { status, cursor } = call.query;
    const kept = { ...(status && { status }) };
    const [subscription, deliveries] = await Promise.all([
      ask(call, getSubscription, { params: { id } }),
      ask(call, getDeliveries, { params: { id }, query: { ...kept, ...(cursor && { cursor }) } }),
    ]);
    const { url, events, disabledReason, failingSince, lag, last24Hours, createdBy } = subscription;
    const act = (name: string, label: string) =>
      actForm(token, { action: path(`/subscriptions/${id}/${name}`), label });
    const acts = html`${subscription.paused ? act('resume', 'Resume') : act('pause', 'Pause')}
    ${subscription.enabled && act('replay', 'Resend failed events of the last 24 hours')}`;
    return {
      title: url,
      content: html`${heading(url, stateOf(subscription), acts)}
      ${section(
        'Last 24 hours',
        html`${figures([
          ['Waiting', count(lag.pending)],
          ['Requests', count(last24Hours.requests)],
          ['Delivered', count(last24Hours.delivered)],
          ['Failed', count(last24Hours.failed)],
          ['Skipped', count(last24Hours.skipped)],
        ])}
        ${facts([
          ['Events', events.join(', ')],
          ['Waiting since', moment(lag.oldestPendingAt)],
          ['Failing since', moment(failingSince)],
          ['Created by', actorText(createdBy)],
          ...(disabledReason ? [['Disabled', disabledReason] as const] : []),
        ])}`,
      )}
      ${section(
        status ? `Deliveries, ${status}` : 'Deliveries',
        html`${deliveryTable(deliveries.data, { token, path })}${further(deliveries.cursor, kept)}`,
        html`<span class="acts"
          >${['pending', 'failed', 'delivered', 'skipped'].map(
            (name) =>
              html`<a href="?${new URLSearchParams({ status: name }).toString()}">${name}</a> `,
          )}</span
        >`,
      )}`,
    };
  },
});

function deliveryTable(
  deliveries: readonly Delivery[],
  { token, path }: Pick<PageContext, 'token' | 'path'>,
): Html {
  return table(
    ['Event', 'Recorded', 'State', 'Attempts#', 'Last answer', ''],
    deliveries.map((delivery) => {
      const { id, subscriptionId, eventName, createdAt, status, reason, attempts, response } =
        delivery;
      const last = attempts.at(-1);
      const action = path(`/subscriptions/${subscriptionId}/deliveries/${id}/retry`);
      return [
        eventName,
        moment(createdAt),
        html`${state(status)} ${reason?.replaceAll('_', ' ')}`,
        count(attempts.length),
        html`${last && (last.statusCode ?? last.error)}
        ${response && html`<code>${response.slice(0, responseCharsMax)}</code>`}`,
        status !== 'delivered' && actForm(token, { action, label: 'Retry' }),
      ];
    }),
    'No deliveries.',
  );
}

/** Maximum number of shown characters of a response with another status than 2xx. */
const responseCharsMax = 200;

const pausing = [
  ['pause', true, 'paused'],
  ['resume', false, 'resumed'],
] as const;

export const subscriptionPages = [
  showSubscriptions,
  showSubscription,
  ...pausing.map(([name, paused, done]) =>
    projectAct({
      path: `/subscriptions/{id}/${name}`,
      does: patchSubscription,
      async act(call) {
        const { id = '' } = call.params;
        await ask(call, patchSubscription, { params: { id }, body: { paused } });
        return { to: `/subscriptions/${id}`, done };
      },
    }),
  ),
  projectAct({
    path: '/subscriptions/{id}/replay',
    does: replayEvents,
    async act(call) {
      const { id = '' } = call.params;
      const from = new Date(Date.now() - replayedMs).toISOString();
      await ask(call, replayEvents, { params: { id }, body: { from, onlyFailed: true } });
      return { to: `/subscriptions/${id}`, done: 'replaying' };
    },
  }),
  projectAct({
    path: '/subscriptions/{id}/deliveries/{deliveryId}/retry',
    does: retryOne,
    async act(call) {
      const { id = '', deliveryId = '' } = call.params;
      await ask(call, retryOne, { params: { id, deliveryId } });
      return { to: `/subscriptions/${id}`, done: 'deliveryRetried' };
    },
  }),
];
