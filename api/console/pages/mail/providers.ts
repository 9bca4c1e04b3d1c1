import type { z } from 'zod';
import { getDelivery } from '../../../delivery/delivery.ts';
import { getProvider, getProviders, patchProvider } from '../../../providers/providers.ts';
import { type Html, html } from '../../../html/html.ts';
import { ask } from '../../ask.ts';
import { type PageContext, projectAct, projectPage } from '../../page.ts';
import { actForm, count, facts, heading, moment, section, state, table } from '../../parts.ts';

type Provider = z.output<typeof getProvider.response>;
type Use = NonNullable<z.output<typeof getDelivery.response>['providers']>[number];

const showProviders = projectPage({
  id: 'showProviders',
  path: '/providers',
  at: '/providers',
  summary: 'The mail providers of a project',
  async show({ call, path }) {
    const [providers, { providers: uses = [] }] = await Promise.all([
      ask(call, getProviders),
      ask(call, getDelivery),
    ]);
    return {
      title: 'Providers',
      content: html`${heading('Mail providers')} ${section('All', providerTable(providers, path))}
      ${uses.length > 0 && section('Last 24 hours', useTable(uses))}`,
    };
  },
});

function providerTable(providers: readonly Provider[], path: PageContext['path']): Html {
  return table(
    ['Name', 'State', 'Kind', 'Reports', 'Next try'],
    providers.map(({ id, scope, name, kind, feedback, state: now, nextTryAt }) => [
      scope === 'installation'
        ? html`${name} <span class="soft">of this server</span>`
        : html`<a href="${path(`/providers/${id}`)}">${name}</a>`,
      state(now.toUpperCase()),
      kind,
      feedback,
      moment(nextTryAt),
    ]),
    'No mail providers.',
  );
}

function useTable(uses: readonly Use[]): Html {
  return table(
    [
      'Name',
      'Sending#',
      'Unknown#',
      'Accepted#',
      'Refused#',
      'Delivered#',
      'Bounced#',
      'Complained#',
    ],
    uses.map(({ name, sending, unknown, last24Hours }) => [
      name,
      count(sending),
      count(unknown),
      count(last24Hours.accepted),
      count(last24Hours.refused),
      count(last24Hours.delivered),
      count(last24Hours.bounced),
      count(last24Hours.complained),
    ]),
    'No mail.',
  );
}

const showProvider = projectPage({
  id: 'showProvider',
  path: '/providers/{id}',
  at: '/providers',
  summary: 'A mail provider of a project',
  async show({ call, token, path }) {
    const { id = '' } = call.params;
    const provider = await ask(call, getProvider, { params: { id } });
    const { name, enabled, state: now, nextTryAt, kind, feedback, reportsDelivery } = provider;
    const isOwn = provider.scope === 'project';
    const [act, label] = enabled ? ['disable', 'Disable'] : ['enable', 'Enable'];
    const action = path(`/providers/${id}/${act}`);
    return {
      title: name,
      content: html`${heading(
        name,
        state(now.toUpperCase()),
        isOwn && actForm(token, { action, label }),
      )}
      ${section(
        'Settings',
        facts([
          ['Kind', kind],
          ...(isOwn ? serverFacts(provider) : []),
          ['Reports', feedback],
          ['Mail can become delivered', reportsDelivery ? 'yes' : 'no'],
          ['Next try', moment(nextTryAt)],
        ]),
      )}`,
    };
  },
});

type OwnProvider = Extract<Provider, { scope: 'project' }>;

function serverFacts(provider: OwnProvider): (readonly [string, string | number])[] {
  const { domains, ratePerSecond, maxMessageMb, ownSigning } = provider;
  return [
    ...(provider.kind === 'smtp'
      ? ([
          ['Server', `${provider.host}:${provider.port}`],
          ['Encryption', provider.security],
          ['User', provider.user ?? 'none'],
        ] as const)
      : ([
          ['Region', provider.region],
          ['Access key', provider.accessKeyId],
        ] as const)),
    ['Sender domains', domains?.join(', ') ?? 'all'],
    ['Emails/s', ratePerSecond ?? 'no limit'],
    ['Largest message', maxMessageMb === null ? 'no limit' : `${maxMessageMb} MB`],
    ['Signed by', ownSigning ? 'Everpost' : 'the mail provider'],
  ];
}

const switching = [
  ['enable', true, 'enabled'],
  ['disable', false, 'disabled'],
] as const;

export const providerPages = [
  showProviders,
  showProvider,
  ...switching.map(([name, enabled, done]) =>
    projectAct({
      path: `/providers/{id}/${name}`,
      does: patchProvider,
      async act(call) {
        const { id = '' } = call.params;
        await ask(call, patchProvider, { params: { id }, body: { enabled } });
        return { to: `/providers/${id}`, done };
      },
    }),
  ),
];
