import type { z } from 'zod';
import { getDelivery } from '../../../delivery/delivery.ts';
import { getProvider, getProviders, patchProvider } from '../../../providers/providers.ts';
import { testProvider } from '../../../providers/trial.ts';
import { type Html, html } from '../../../html/html.ts';
import { ask } from '../../ask.ts';
import { type PageContext, projectAct, projectPage, type ShownPage } from '../../page.ts';
import { actForm, count, facts, heading, moment, section, state, table } from '../../parts.ts';

type Provider = z.output<typeof getProvider.response>;
type Test = z.output<typeof testProvider.response>;
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
  show: (context) => pageOf(context),
});

async function pageOf({ call, token, path }: PageContext, test?: Test): Promise<ShownPage> {
  const { id = '' } = call.params;
  const provider = await ask(call, getProvider, { params: { id } });
  const { name, enabled, state: now, nextTryAt, kind, feedback, reportsDelivery } = provider;
  const isOwn = provider.scope === 'project';
  const button = (act: string, label: string) =>
    actForm(token, { action: path(`/providers/${id}/${act}`), label });
  const acts = html`${button('test', 'Test')}
  ${enabled ? button('disable', 'Disable') : button('enable', 'Enable')}`;
  return {
    title: name,
    content: html`${heading(name, state(now.toUpperCase()), isOwn && acts)}
    ${test && section('Test', testResult(test))}
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
}

/** The steps of a test of a provider, in words. */
const stageWords: Record<NonNullable<Test['stage']>, string> = {
  connect: 'to connect',
  tls: 'to encrypt',
  auth: 'to log in',
  sender: 'to name the sender',
  recipient: 'to name the recipient',
  data: 'to send the message',
};

function testResult({ stage, ms, tls, message }: Test): Html {
  const result =
    stage === null
      ? html`${state('UP')} It connects and logs in.`
      : html`${state('FAILED')} It failed ${stageWords[stage]}.`;
  return facts([
    ['Result', result],
    ['Answer of the server', message ?? 'none'],
    ['Encryption', tls ?? 'none'],
    ['Milliseconds', count(ms)],
  ]);
}

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
  projectAct({
    path: '/providers/{id}/test',
    does: testProvider,
    async act(call) {
      const { id = '' } = call.params;
      const test = await ask(call, testProvider, { params: { id }, body: {} });
      return { at: '/providers', show: (context) => pageOf(context, test) };
    },
  }),
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
