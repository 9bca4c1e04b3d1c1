import type { z } from 'zod';
import { getSignInPolicy, setSignInPolicy } from '../../../projects/sign-in-policy.ts';
import { type Html, html } from '../../../html/html.ts';
import { ask, type MemberCall } from '../../ask.ts';
import { projectAct, projectPage } from '../../page.ts';
import { actForm, heading, section, state, table } from '../../parts.ts';

/** The settings of a project for the sign-in of its members. */

type Policy = z.output<typeof getSignInPolicy.response>;

const showSettings = projectPage({
  id: 'showSettings',
  path: '/settings',
  at: '/settings',
  summary: 'Settings of a project: the sign-in of its members',
  async show({ call, token, path }) {
    const isMember = call.member.role === 'MEMBER';
    return {
      title: 'Settings',
      content: html`${heading('Settings')}
        <p><a href="${path('/settings/mail')}">Marketing mail: hold-out and links</a></p>
        ${isMember ? adminsOnly : policySections(await policyOf(call), { call, token, path })}`,
    };
  },
});

const adminsOnly = html`<p class="soft">Only admins and the owner see the settings.</p>`;

/** Returns the path parameters of the policy's endpoints. */
const paramsOf = ({ member }: MemberCall) => ({ id: member.projectId });

const policyOf = (call: MemberCall) => ask(call, getSignInPolicy, { params: paramsOf(call) });

function policySections(
  { requireSecondFactor: isRequired, rules }: Policy,
  { call, token, path }: { call: MemberCall; token: string; path: (within: string) => string },
): Html {
  const isOwner = call.member.role === 'OWNER';
  const change = actForm(token, {
    action: path('/settings/second-factor'),
    label: isRequired ? 'No longer require it' : 'Require it of all members',
    fields: { require: String(!isRequired) },
    ...(!isRequired && { weight: 'first' }),
  });
  const rows = rules.map(({ provider, claim, value, role }) => [
    call.config.oidc.find(({ id }) => id === provider)?.name ?? provider,
    claim === null ? 'All its users' : html`<code>${claim}</code> is <code>${value}</code>`,
    role.toLowerCase(),
  ]);
  return html`${section(
    'Second factor',
    html`<ul>
        <li>Members who have not used a second factor reach nothing of the project, at once.</li>
        <li>A member then cannot remove the last second factor of their account.</li>
        <li>API keys work as before.</li>
        <li>You need to have used a second factor yourself to require it.</li>
      </ul>
      ${isOwner ? change : html`<p class="soft">Only the owner can change this.</p>`}`,
    state(isRequired ? 'REQUIRED' : 'NOT_REQUIRED'),
  )}
  ${
    rows.length > 0 &&
    section('Members by identity providers', table(['Provider', 'Who', 'Role'], rows, ''))
  }`;
}

const requireFactor = projectAct({
  path: '/settings/second-factor',
  does: setSignInPolicy,
  async act(call, form) {
    const { updatedAt: _, ...policy } = await policyOf(call);
    const body = { ...policy, requireSecondFactor: form.get('require') === 'true' };
    await ask(call, setSignInPolicy, { params: paramsOf(call), body });
    return { to: '/settings', done: 'policySaved' };
  },
});

export const settingsPages = [showSettings, requireFactor];
