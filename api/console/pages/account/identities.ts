import type { z } from 'zod';
import type { Config } from '../../../../config.ts';
import {
  linkMyIdentity,
  type listMyIdentities,
  unlinkMyIdentity,
} from '../../../accounts/oidc/identities.ts';
import { type Html, html } from '../../../html/html.ts';
import { type AccountAct, askMine, cookiesOf } from '../../account-page.ts';
import { actForm, moment, section, table } from '../../parts.ts';

type Identity = z.output<typeof listMyIdentities.response>[number];

/** Lists the account's links to OpenID providers, with buttons for the providers of this server. */
export function identitySection(
  token: string,
  identities: readonly Identity[],
  providers: Config['oidc'],
): Html | null {
  if (identities.length === 0 && providers.length === 0) return null;
  const rows = identities.map(({ id, name, createdAt, lastUsedAt }) => [
    name,
    moment(createdAt),
    moment(lastUsedAt),
    actForm(token, { action: `/console/account/identities/${id}/unlink`, label: 'Unlink' }),
  ]);
  return section(
    'Identity providers',
    html`${table(['Provider', 'Linked', 'Last used', ''], rows, 'You sign in by none of them.')}
      <div class="acts">
        ${providers.map(({ id, name }) =>
          actForm(token, {
            action: '/console/account/identities',
            label: `Link ${name}`,
            fields: { provider: id },
          }),
        )}
      </div>`,
  );
}

export const identityActs: AccountAct[] = [
  {
    path: '/identities',
    does: linkMyIdentity,
    async act(call, form) {
      const provider = form.get('provider') ?? '';
      const linked = await askMine(call, linkMyIdentity, { body: { provider } });
      const name = call.config.oidc.find(({ id }) => id === provider)?.name ?? provider;
      return {
        title: `Link ${name}`,
        cookies: cookiesOf(linked),
        // A link, not a form, because the policy of pages lets no form redirect to another site.
        content: () =>
          html`<h1>Link ${name}</h1>
            <p>Sign in at ${name} within 10 minutes. You come back by yourself.</p>
            <p>
              <a class="button" href="${linked.data.url}">Continue to ${name}</a>
              <a href="/console/account">Cancel</a>
            </p>`,
      };
    },
  },
  {
    path: '/identities/{id}/unlink',
    does: unlinkMyIdentity,
    async act(call) {
      await askMine(call, unlinkMyIdentity, { params: { id: call.params['id'] ?? '' } });
      return { done: 'unlinked' };
    },
  },
];
