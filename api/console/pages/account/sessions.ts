import type { z } from 'zod';
import type { Config } from '../../../../config.ts';
import { endMySession, endOtherSessions, type listMySessions } from '../../../accounts/sessions.ts';
import { type Html, html } from '../../../html/html.ts';
import { type AccountAct, askMine } from '../../account-page.ts';
import { actForm, moment, section, state, table } from '../../parts.ts';

type Session = z.output<typeof listMySessions.response>[number];

export function sessionSection(
  token: string,
  sessions: readonly Session[],
  providers: Config['oidc'],
): Html {
  const rows = sessions.map((session) => [
    deviceText(session.userAgent),
    methodText(session, providers),
    session.ip,
    moment(session.lastSeenAt),
    session.current
      ? state('THIS_SESSION')
      : actForm(token, { action: `/console/account/sessions/${session.id}/end`, label: 'End' }),
  ]);
  const endOthers = actForm(token, {
    action: '/console/account/sessions/end-others',
    label: 'End all others',
  });
  return section(
    'Sessions',
    table(['Device', 'Login', 'Address', 'Last seen', ''], rows, ''),
    sessions.length > 1 && endOthers,
  );
}

const methodNames = {
  password: 'Password',
  github: 'GitHub',
  google: 'Google',
  oidc: 'Provider',
  passkey: 'Passkey',
  break_glass: 'Link of the operator',
} as const;

const factorNames = {
  totp: 'code of an app',
  passkey: 'passkey',
  recovery: 'recovery code',
  provider: 'second factor of the provider',
} as const;

/** Returns the sign-in method of a session, such as “Password, code of an app”. */
function methodText(
  { method, provider, secondFactor }: Session,
  providers: Config['oidc'],
): string {
  const site = providers.find(({ id }) => id === provider)?.name ?? provider;
  const first = site ?? methodNames[method];
  const isAlone = secondFactor === null || method === 'passkey' || method === 'break_glass';
  return isAlone ? first : `${first}, ${factorNames[secondFactor]}`;
}

/** Names of browsers and systems in a User-Agent header. The first match is the right one. */
const browsers = [
  ['Edg/', 'Edge'],
  ['OPR/', 'Opera'],
  ['Firefox/', 'Firefox'],
  ['Chrome/', 'Chrome'],
  ['Safari/', 'Safari'],
] as const;
const systems = [
  ['Android', 'Android'],
  ['iPhone', 'iPhone'],
  ['iPad', 'iPad'],
  ['Windows', 'Windows'],
  ['Mac OS X', 'macOS'],
  ['Linux', 'Linux'],
] as const;

/** Shows the browser and system of a User-Agent header, with the whole header as a tooltip. */
function deviceText(userAgent: string | null): Html {
  if (userAgent === null) return html`<span class="soft">Unknown</span>`;
  const nameIn = (known: readonly (readonly [string, string])[]) =>
    known.find(([token]) => userAgent.includes(token))?.[1];
  const names = [nameIn(browsers), nameIn(systems)].filter((name) => name !== undefined);
  return html`<span title="${userAgent}">${names.join(', ') || userAgent.slice(0, 40)}</span>`;
}

export const sessionActs: AccountAct[] = [
  {
    path: '/sessions/{id}/end',
    does: endMySession,
    async act(call) {
      await askMine(call, endMySession, { params: { id: call.params['id'] ?? '' } });
      return { done: 'sessionEnded' };
    },
  },
  {
    path: '/sessions/end-others',
    does: endOtherSessions,
    async act(call) {
      await askMine(call, endOtherSessions);
      return { done: 'sessionsEnded' };
    },
  },
];
