import type { Problem } from '../../../../domain/errors.ts';
import { getFactors } from '../../../accounts/factors/factors.ts';
import { listMyIdentities } from '../../../accounts/oidc/identities.ts';
import { listMySessions } from '../../../accounts/sessions.ts';
import { requestVerification } from '../../../accounts/verification.ts';
import { getMe } from '../../../accounts/users.ts';
import { type Html, html } from '../../../html/html.ts';
import {
  type AccountAct,
  accountAct,
  type AccountPage,
  accountPage,
  askMine,
  type UserCall,
} from '../../account-page.ts';
import { faultMessage } from '../../page.ts';
import { actForm, heading, section } from '../../parts.ts';
import { showEvents } from './events.ts';
import { factorActs, factorSection } from './factors.ts';
import { identityActs, identitySection } from './identities.ts';
import { passwordAct, passwordSection } from './password.ts';
import { projectAct } from './projects.ts';
import { sessionActs, sessionSection } from './sessions.ts';

/** The page of a user's own account. */

/** Shows the account. @param problem the error of a form on the page */
async function accountOf(call: UserCall, problem?: Problem): Promise<AccountPage> {
  const [{ data: me }, { data: factors }, { data: sessions }, { data: identities }] =
    await Promise.all([
      askMine(call, getMe),
      askMine(call, getFactors),
      askMine(call, listMySessions),
      askMine(call, listMyIdentities),
    ]);
  const { oidc, passwordSignIn } = call.config;
  return {
    title: 'Account',
    hasScript: true,
    content: (token) =>
      html`${heading('Account', html`<span class="soft">${me.email}</span>`)}
        ${problem && faultMessage(problem)} ${!me.emailVerified && verificationSection(token)}
        ${factorSection(token, factors)} ${sessionSection(token, sessions, oidc)}
        ${identitySection(token, identities, oidc)}
        ${me.type === 'PASSWORD' && passwordSignIn && passwordSection(token, me.email)}
        <p><a href="/console/account/events">Logins and changes of your account</a></p>`,
  };
}

/** Shows a button that sends the verification mail again. */
function verificationSection(token: string): Html {
  const again = actForm(token, { action: '/console/account/verification', label: 'Send again' });
  return section(
    'Your address is not verified',
    html`<p>Follow the link in the mail.</p>
      ${again}`,
  );
}

const verificationAct: AccountAct = {
  path: '/verification',
  does: requestVerification,
  async act(call) {
    await askMine(call, requestVerification);
    return { done: 'verificationSent' };
  },
};

const showAccount = accountPage({
  id: 'showAccount',
  path: '',
  summary: 'Your account: second factors, sessions, providers, password',
  show: (call) => accountOf(call),
});

export const accountPages = [
  showAccount,
  showEvents,
  ...[...factorActs, ...sessionActs, ...identityActs, passwordAct, projectAct, verificationAct].map(
    (act) => accountAct({ refused: accountOf, ...act }),
  ),
];
