import { requireRights } from '../../../access/auth.ts';
import { rotateKey, updateKey } from '../../../keys/change.ts';
import { getKey, getKeys, removeKey } from '../../../keys/keys.ts';
import { createKey } from '../../../keys/make.ts';
import { Problem } from '../../../../domain/errors.ts';
import { ask, type MemberCall } from '../../ask.ts';
import { type Html, html } from '../../../html/html.ts';
import { type PageContext, projectAct, projectPage, type ShownPage } from '../../page.ts';
import { actForm, actorText, facts, heading, moment, section, state, table } from '../../parts.ts';
import {
  changedSettings,
  endField,
  type Key,
  type KeySettings,
  longForm,
  readEnd,
  readSettings,
  settingFields,
} from './form.ts';

/** The pages of named keys. All members can see them; administrators can also change them. */

const at = '/keys';

const showKeys = projectPage({
  id: 'showApiKeys',
  path: '/keys',
  at,
  summary: 'The named keys of a project',
  async show({ call, path }) {
    const isRevoked = call.query['revoked'] === 'true';
    const keys = await ask(call, getKeys, { query: { revoked: String(isRevoked) } });
    const acts = html`<a href="${path('/keys/new')}">New secret key</a>
      <a href="${path('/keys/new?kind=public')}">New public key</a>`;
    const other = isRevoked
      ? html`<a href="?">Valid keys</a>`
      : html`<a href="?revoked=true">Revoked keys</a>`;
    return {
      title: 'API keys',
      content: html`${heading('API keys', null, isAdministrator(call) && acts)}
        <p class="note">
          The two keys of the project itself are not listed. They have no limits and no end.
        </p>
        ${section(isRevoked ? 'Revoked' : 'Newest first', keyTable(keys, { path, isRevoked }), other)}`,
    };
  },
});

const isAdministrator = ({ member: { role } }: MemberCall) => role !== 'MEMBER';

function keyTable(
  keys: readonly Key[],
  { path, isRevoked }: Pick<PageContext, 'path'> & { isRevoked: boolean },
): Html {
  const end = isRevoked ? ['Revoked', 'By'] : ['Expires', 'Made by'];
  return table(
    ['Name', 'State', 'Kind', 'Value', 'Scopes', 'Last used', ...end],
    keys.map((key) => [
      html`<a href="${path(`/keys/${key.id}`)}">${key.name}</a>`,
      stateOf(key),
      key.kind,
      html`<code>${key.key}</code>`,
      key.scopes.join(', '),
      moment(key.lastUsedAt),
      moment(isRevoked ? key.revokedAt : key.expiresAt),
      actorText(isRevoked ? key.revokedBy : key.createdBy),
    ]),
    'No keys.',
  );
}

function stateOf({ revokedAt, expiresAt, rotatesUntil }: Key): Html {
  if (revokedAt !== null) return state('REVOKED');
  if (isOver(expiresAt)) return state('EXPIRED');
  return html`${state('VALID')} ${rotatesUntil !== null && state('ROTATING')}`;
}

const isOver = (expiresAt: string | null) =>
  expiresAt !== null && Date.parse(expiresAt) <= Date.now();

const showKey = projectPage({
  id: 'showApiKey',
  path: '/keys/{id}',
  at,
  summary: 'A named key of a project',
  show: (context) => pageOf(context, context.call.params['id'] ?? ''),
});

/** @param value the value of a key that was just created or rotated */
async function pageOf(context: PageContext, id: string, value?: string): Promise<ShownPage> {
  const { call, path, token } = context;
  const key = await ask(call, getKey, { params: { id } });
  const acts = html`<a href="${path(`/keys/${id}/change`)}">Change</a>
    <a href="${path(`/keys/${id}/rotate`)}">Rotate</a>
    ${actForm(token, { action: path(`/keys/${id}/revoke`), label: 'Revoke', weight: 'grave' })}`;
  const canChange = isAdministrator(call) && key.revokedAt === null;
  return {
    title: key.name,
    content: html`${heading(key.name, stateOf(key), canChange && acts)}
    ${value && section('Value', valueOnce(value))} ${section('Settings', facts(factsOf(key)))}`,
  };
}

function valueOnce(value: string): Html {
  return html`<p><code>${value}</code></p>
    <p>Copy it now. No other page and no response shows it again.</p>`;
}

function factsOf(key: Key): (readonly [string, string | Html | null])[] {
  const { domains, cidrs, events, revokedAt } = key;
  return [
    ['Value', html`<code>${key.key}</code>`],
    ['Kind', key.kind],
    ['Scopes', key.scopes.join(', ')],
    ...(key.kind === 'secret' ? [['Sender domains', domains?.join(', ') ?? 'all'] as const] : []),
    ...(key.kind === 'public' ? [['Events', events?.join(', ') ?? 'all'] as const] : []),
    ['Networks', cidrs?.join(', ') ?? 'all'],
    ['Expires', moment(key.expiresAt)],
    ['Former value works until', moment(key.rotatesUntil)],
    ['Last used', moment(key.lastUsedAt)],
    ['Made', html`${moment(key.createdAt)} ${actorText(key.createdBy)}`],
    ...(revokedAt === null
      ? []
      : [['Revoked', html`${moment(revokedAt)} ${actorText(key.revokedBy)}`] as const]),
  ];
}

const noSettings: Omit<KeySettings, 'kind'> = {
  name: '',
  scopes: [],
  domains: null,
  cidrs: null,
  events: null,
  expiresAt: null,
};

const kindOf = (word: string | null | undefined) => (word === 'public' ? 'public' : 'secret');

const showNewKey = projectPage({
  id: 'showNewApiKey',
  path: '/keys/new',
  at,
  summary: 'A form for a new named key',
  async show({ call, token, path }) {
    requireRights(createKey, call.caller, call.member);
    const kind = kindOf(call.query['kind']);
    const form = longForm(token, {
      action: path('/keys/new'),
      label: 'Create the key',
      inputs: html`<input type="hidden" name="kind" value="${kind}" />
        ${settingFields({ ...noSettings, kind })}`,
    });
    const title = `New ${kind} key`;
    return { title, content: html`${heading(title)} ${section('Settings', form)}` };
  },
});

const showKeyChange = projectPage({
  id: 'showApiKeyChange',
  path: '/keys/{id}/change',
  at,
  summary: 'A form that changes a named key',
  async show({ call, token, path }) {
    requireRights(updateKey, call.caller, call.member);
    const { id = '' } = call.params;
    const key = await ask(call, getKey, { params: { id } });
    const form = longForm(token, {
      action: path(`/keys/${id}/change`),
      label: 'Change the key',
      inputs: settingFields(key),
    });
    return { title: key.name, content: html`${heading(key.name)} ${section('Settings', form)}` };
  },
});

const overlaps = [
  [0, 'ends at once'],
  [3_600, 'works for another hour'],
  [86_400, 'works for another day'],
  [604_800, 'works for another 7 days'],
] as const;

const showRotation = projectPage({
  id: 'showApiKeyRotation',
  path: '/keys/{id}/rotate',
  at,
  summary: 'A form that replaces the value of a named key',
  async show({ call, token, path }) {
    requireRights(rotateKey, call.caller, call.member);
    const { id = '' } = call.params;
    const key = await ask(call, getKey, { params: { id } });
    const options = overlaps.map(
      ([seconds, words]) =>
        html`<option value="${seconds}" ${seconds === 86_400 && html` selected`}>${words}</option>`,
    );
    const form = longForm(token, {
      action: path(`/keys/${id}/rotate`),
      label: 'Rotate the key',
      inputs: html`<input type="hidden" name="updatedAt" value="${key.updatedAt}" />
        <label
          >The present value
          <select name="overlapSeconds">
            ${options}
          </select></label
        >
        ${endField(key.expiresAt)}`,
    });
    const formerEnds =
      key.rotatesUntil !== null &&
      html`<p class="note">
        The value before this one works until ${moment(key.rotatesUntil)}. Another rotation ends it
        at once.
      </p>`;
    return {
      title: key.name,
      content: html`${heading(key.name)} ${section('Rotate', html`${formerEnds}${form}`)}`,
    };
  },
});

/**
 * Refuses a form that was sent before. Reloading the page with a new value sends the form again,
 * and this must not replace a value that programs already use.
 * @throws Problem CONFLICT
 */
function refuseOldForm(key: Key, form: URLSearchParams): void {
  if (form.get('updatedAt') === key.updatedAt) return;
  throw new Problem('CONFLICT', {
    message:
      'The key has changed since this form was opened, perhaps by this form. It was not rotated again.',
    suggestion: 'Rotate it again only if its new value was not copied.',
  });
}

export const keyPages = [
  showKeys,
  showNewKey,
  showKey,
  showKeyChange,
  showRotation,
  projectAct({
    path: '/keys/new',
    does: createKey,
    async act(call, form) {
      const kind = kindOf(form.get('kind'));
      const body = { kind, ...readSettings(form, kind) };
      const { id, key } = await ask(call, createKey, { body });
      return { at, show: (context) => pageOf(context, id, key) };
    },
  }),
  projectAct({
    path: '/keys/{id}/change',
    does: updateKey,
    async act(call, form) {
      const { id = '' } = call.params;
      const key = await ask(call, getKey, { params: { id } });
      const body = changedSettings(key, readSettings(form, key.kind));
      await ask(call, updateKey, { params: { id }, body });
      return { to: `/keys/${id}`, done: 'changed' };
    },
  }),
  projectAct({
    path: '/keys/{id}/rotate',
    does: rotateKey,
    async act(call, form) {
      const { id = '' } = call.params;
      requireRights(rotateKey, call.caller, call.member);
      const before = await ask(call, getKey, { params: { id } });
      refuseOldForm(before, form);
      const overlapSeconds = Number(form.get('overlapSeconds') ?? 0);
      const body = {
        overlapSeconds,
        ...changedSettings(before, { expiresAt: readEnd(form) }),
      };
      const { key } = await ask(call, rotateKey, { params: { id }, body });
      return { at, show: (context) => pageOf(context, id, key) };
    },
  }),
  projectAct({
    path: '/keys/{id}/revoke',
    does: removeKey,
    async act(call) {
      const { id = '' } = call.params;
      await ask(call, removeKey, { params: { id } });
      return { to: `/keys/${id}`, done: 'revoked' };
    },
  }),
];
