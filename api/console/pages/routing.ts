import type { z } from 'zod';
import { invalidField } from '../../../domain/errors.ts';
import { getProviders } from '../../providers/providers.ts';
import { previewRouting } from '../../routing/preview.ts';
import { getRouting, putRouting } from '../../routing/routing.ts';
import { ask, type MemberCall } from '../ask.ts';
import { type Html, html } from '../../html/html.ts';
import { type PageContext, projectAct, projectPage } from '../page.ts';
import { actForm, count, facts, heading, moment, section, state, table } from '../parts.ts';

type Routing = z.output<typeof getRouting.response>;
type Route = Routing['routes'][number];
type Names = ReadonlyMap<string, string>;

const showRouting = projectPage({
  id: 'showRouting',
  path: '/routing',
  at: '/routing',
  summary: 'Which mail of a project leaves by which mail provider',
  async show({ call, token, path }) {
    const [routing, providers] = await Promise.all([
      ask(call, getRouting),
      ask(call, getProviders),
    ]);
    const names: Names = new Map(providers.map(({ id, name }) => [id, name]));
    return {
      title: 'Routing',
      content: html`${heading('Routing')}
      ${section(
        'Routes',
        html`${routeTable(routing, names)} ${facts([['Last change', moment(routing.updatedAt)]])}`,
      )}
      ${section('Try', await preview(call, names))}
      ${section('Change', editor(routing, { token, path }, providers))}`,
    };
  },
});

function routeTable({ routes }: Routing, names: Names): Html {
  return table(
    ['Route', 'Mail', 'Providers, by weight', 'While the chosen one is down'],
    routes.map((route, index) => [
      count(index),
      matchWords(route.match),
      route.providers.map(({ id, weight }) => `${names.get(id) ?? id} (${weight})`).join(', '),
      route.onDown === 'hold' ? 'mail waits' : 'the next one gets it',
    ]),
    'No routes yet: all mail leaves by the default provider.',
  );
}

function matchWords({ messageClass, domains, topicIds, receivers }: Route['match']): string {
  const parts = [
    messageClass && `class ${messageClass.join(', ')}`,
    domains && `from ${domains.join(', ')}`,
    topicIds && `topic ${topicIds.join(', ')}`,
    receivers && `to ${receivers.join(', ')}`,
  ].filter((part) => part !== undefined);
  return parts.length === 0 ? 'all' : parts.join('; ');
}

/** A form for an example message, and the providers through which it would be sent now. */
async function preview(call: MemberCall, names: Names): Promise<Html> {
  const { from = '', to = '', messageClass = 'MARKETING' } = call.query;
  const field = (name: string, value: string, label: string) =>
    html`<label>${label} <input name="${name}" value="${value}" autocomplete="off" /></label> `;
  const form = html`<form method="get">
    <span class="acts"
      >${field('from', from, 'From')}${field('to', to, 'To')}
      <label
        >Class
        <select name="messageClass">
          ${['MARKETING', 'TRANSACTIONAL', 'HEADLESS'].map(
            (name) =>
              html`<option${name === messageClass ? html` selected` : null}>${name}</option>`,
          )}
        </select></label
      ><button>Show</button></span
    >
  </form>`;
  if (from === '' || to === '') return form;
  const shown = await ask(call, previewRouting, { body: { from, to, messageClass } });
  const decided = shown.route === null ? 'No route of the project' : `Route ${shown.route}`;
  return html`${form}
    <p>${decided} decides. The providers are tried in this order:</p>
    ${table(
      ['Provider', 'Weight#', 'State'],
      shown.candidates.map(({ providerId, weight, reason }) => [
        names.get(providerId) ?? providerId,
        count(weight),
        state((reason ?? 'usable').toUpperCase()),
      ]),
      'None.',
    )}`;
}

function editor(
  { routes }: Routing,
  { token, path }: Pick<PageContext, 'token' | 'path'>,
  providers: z.output<typeof getProviders.response>,
): Html {
  const inputs = html`<textarea
    name="routes"
    rows="16"
    cols="80"
    spellcheck="false"
    aria-label="Routes"
  >
${JSON.stringify(routes, null, 2)}</textarea>`;
  return html`<p>
      The first route that matches decides. The fields are those of <code>PUT /routing</code>.
    </p>
    ${table(
      ['Provider', 'id'],
      providers.map(({ id, name }) => [name, html`<code>${id}</code>`]),
      'None.',
    )}
    ${actForm(token, { action: path('/routing'), label: 'Replace the routes', inputs })}`;
}

/**
 * Parses the routes in a form.
 * @throws Problem VALIDATION_ERROR if the text is not JSON
 */
function readRoutes(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw invalidField('routes', 'invalid_type', `Must be JSON: ${String(error)}`);
  }
}

export const routingPages = [
  showRouting,
  projectAct({
    path: '/routing',
    does: putRouting,
    async act(call, form) {
      await ask(call, putRouting, { body: { routes: readRoutes(form.get('routes') ?? '') } });
      return { to: '/routing', done: 'routed' };
    },
  }),
];
