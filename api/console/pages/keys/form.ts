import type { z } from 'zod';
import { scopes } from '../../../../domain/access/scopes.ts';
import type { ApiKey } from '../../../keys/record.ts';
import { type Content, type Html, html } from '../../../html/html.ts';
import { table } from '../../parts.ts';

/** The fields of a named key in forms. */

export type Key = z.output<typeof ApiKey>;

/** The settings of a key that a form shows. */
export type KeySettings = Pick<
  Key,
  'kind' | 'name' | 'scopes' | 'domains' | 'cidrs' | 'events' | 'expiresAt'
>;

/** Renders a form with one field below the other. */
export function longForm(
  token: string,
  { action, label, inputs }: { action: string; label: string; inputs: Content },
): Html {
  return html`<form method="post" action="${action}">
    <input type="hidden" name="token" value="${token}" />
    <div class="fields">${inputs}</div>
    <button class="first">${label}</button>
  </form>`;
}

/** Renders the fields of the settings that this kind of key has. */
export function settingFields(key: KeySettings): Html {
  const { kind, name, domains, cidrs, events, expiresAt } = key;
  return html`<label
      >Name <input name="name" value="${name}" required maxlength="100" autocomplete="off"
    /></label>
    ${
      kind === 'public'
        ? lines('events', events, 'Events that it may track, one a line: a name or <prefix>.*')
        : html`${scopeFields(key.scopes)}
          ${lines('domains', domains, 'Sender domains, one a line; empty: all')}`
    }
    ${lines('cidrs', cidrs, 'Networks that may use it, one a line; empty: all')}
    ${endField(expiresAt)}`;
}

export function endField(expiresAt: string | null): Html {
  return html`<label
    >Expires, in UTC; empty: never
    <input
      name="expiresAt"
      type="datetime-local"
      step="any"
      value="${expiresAt?.replace(/Z$/, '')}"
  /></label>`;
}

function lines(name: string, items: readonly string[] | null, label: string): Html {
  const text = html`${items?.join('\n')}`;
  return html`<label
    >${label}<textarea name="${name}" rows="3" spellcheck="false">${text}</textarea>
  </label>`;
}

const verbs = ['read', 'write', 'send'] as const;

/** Renders a check box for each scope, with a row for each resource. */
function scopeFields(granted: readonly string[]): Html {
  const box = (scope: string) =>
    html`<input
      type="checkbox"
      name="scopes"
      value="${scope}"
      aria-label="${scope}"
      ${granted.includes(scope) && html` checked`}
    />`;
  const all: ReadonlySet<string> = new Set(scopes);
  const resources = [...new Set(scopes.map((scope) => scope.split(':')[0] ?? ''))];
  const rows = resources.map((resource) => [
    resource,
    ...verbs.map((verb) => {
      const scope = `${resource}:${verb}`;
      return all.has(scope) && box(scope);
    }),
  ]);
  return html`<fieldset>
    <legend>Scopes</legend>
    <p>
      <label>${box('*')} everything, also what is added later</label>
      <label>${box('*:read')} everything that reads</label>
    </p>
    ${table(['Resource', 'Read', 'Write', 'Send'], rows, '')}
  </fieldset>`;
}

/** Returns the settings in a form, in the shape of the API. */
export function readSettings(form: URLSearchParams, kind: Key['kind']): Record<string, unknown> {
  return {
    name: form.get('name') ?? '',
    cidrs: readLines(form, 'cidrs'),
    expiresAt: readEnd(form),
    ...(kind === 'public'
      ? { events: readLines(form, 'events') }
      : { scopes: form.getAll('scopes'), domains: readLines(form, 'domains') }),
  };
}

function readLines(form: URLSearchParams, name: string): string[] | null {
  const items = (form.get(name) ?? '').split('\n').map((line) => line.trim());
  const given = items.filter((item) => item !== '');
  return given.length > 0 ? given : null;
}

/** Returns the expiry in a form; null: the key never expires. */
export function readEnd(form: URLSearchParams): string | null {
  const text = form.get('expiresAt') ?? '';
  return text === '' ? null : `${text}Z`;
}

/**
 * Returns the settings that differ from those of the key. A form sends all settings, and the API
 * would refuse an expiry that has passed.
 */
export function changedSettings(key: Key, settings: Record<string, unknown>) {
  const entries = Object.entries(settings).filter(([field, value]) => {
    const before = key[field as keyof KeySettings];
    return comparable(field, value) !== comparable(field, before);
  });
  return Object.fromEntries(entries);
}

function comparable(field: string, value: unknown): string {
  if (Array.isArray(value)) return JSON.stringify(value.toSorted());
  const isMoment = field === 'expiresAt' && typeof value === 'string';
  return JSON.stringify(isMoment ? Date.parse(value) : value);
}
