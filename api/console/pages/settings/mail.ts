import type { z } from 'zod';
import { getHoldout, putHoldout } from '../../../projects/holdout.ts';
import { getLinkPolicy, putLinkPolicy } from '../../../projects/link-policy.ts';
import { type UtmKey, utmNames } from '../../../../domain/links/utm.ts';
import { type Html, html } from '../../../html/html.ts';
import { ask } from '../../ask.ts';
import { projectAct, projectPage } from '../../page.ts';
import { actForm, facts, heading, moment, section } from '../../parts.ts';

/** Settings for marketing mail: the hold-out, and the UTM parameters of links. */

const keys = ['source', 'medium', 'campaign', 'term', 'content'] as const satisfies UtmKey[];

const showMailSettings = projectPage({
  id: 'showMailSettings',
  path: '/settings/mail',
  at: '/settings',
  summary: 'Settings of marketing mail: the hold-out and the parameters of links',
  async show({ call, token, path }) {
    const mayChange = call.member.role !== 'MEMBER';
    const [holdout, links] = [await ask(call, getHoldout), await ask(call, getLinkPolicy)];
    const form = (action: string, inputs: Html) =>
      mayChange
        ? actForm(token, { action: path(action), label: 'Save', weight: 'first', inputs })
        : html`<p class="soft">Only admins and the owner can change this.</p>`;
    return {
      title: 'Marketing mail',
      content: html`${heading('Marketing mail')}
      ${section(
        'Hold-out',
        html`<p>
            This share of the contacts gets no marketing mail, so that you can measure what the mail
            does. <a href="/docs/guides/hold-outs">How to read the result</a>
          </p>
          ${facts([
            ['Scope', scopeText(holdout.scope)],
            ['Ends', moment(holdout.endsAt)],
          ])}
          ${form('/settings/mail/holdout', percentInput(holdout.percent))}`,
      )}
      ${section(
        'Links',
        html`<p>
            Links in the mail of campaigns and workflows get these UTM parameters. A value may
            contain ${utmNames.map((name) => html`<code>{${name}}</code> `)}
          </p>
          ${form('/settings/mail/links', linkInputs(links))}`,
      )}`,
    };
  },
});

function percentInput(percent: number): Html {
  return html`<label
    >Percent of the contacts
    <input name="percent" type="number" min="0" max="20" step="0.01" value="${percent}" required
  /></label>`;
}

function scopeText(scope: z.output<typeof getHoldout.response>['scope']): string {
  if (scope === 'marketing') return 'All marketing mail';
  return 'topicIds' in scope
    ? `Mail of ${scope.topicIds.length} topics`
    : `Mail of ${scope.workflowIds.length} workflows`;
}

function linkInputs({ utm, utmHosts }: z.output<typeof getLinkPolicy.response>): Html {
  const fields = keys.map(
    (key) =>
      html`<label
        >utm_${key} <input name="${key}" value="${utm?.[key] ?? ''}" autocomplete="off"
      /></label> `,
  );
  return html`${fields}<label
      >Only links to these hosts, separated by spaces
      <input name="hosts" value="${utmHosts.join(' ')}" placeholder="all hosts" autocomplete="off"
    /></label>`;
}

const saveHoldout = projectAct({
  path: '/settings/mail/holdout',
  does: putHoldout,
  async act(call, form) {
    await ask(call, putHoldout, { body: { percent: Number(form.get('percent')) } });
    return { to: '/settings/mail', done: 'policySaved' };
  },
});

const saveLinks = projectAct({
  path: '/settings/mail/links',
  does: putLinkPolicy,
  async act(call, form) {
    const given = keys.map((key) => [key, form.get(key)?.trim() || null] as const);
    const utm = given.some(([, value]) => value !== null) ? Object.fromEntries(given) : null;
    const utmHosts = (form.get('hosts') ?? '').split(/[\s,]+/).filter((host) => host !== '');
    await ask(call, putLinkPolicy, { body: { utm, utmHosts } });
    return { to: '/settings/mail', done: 'policySaved' };
  },
});

export const mailSettingsPages = [showMailSettings, saveHoldout, saveLinks];
