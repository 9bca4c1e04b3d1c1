import type { ApiKey, CreateApiKeyRequest } from '../../../api/api.ts';
import { typedOf, valueOf } from '../../../values/kinds.ts';

/** The settings of a named key in a form: lists are texts with one item a line. */
export interface KeyValues {
  name: string;
  kind: ApiKey['kind'];
  scopes: readonly string[];
  domains: string;
  events: string;
  cidrs: string;
  expiresAt: string;
}

type Body = Required<CreateApiKeyRequest>;

const linesOf = (items: readonly string[] | null) => items?.join('\n') ?? '';

function itemsOf(text: string): string[] | null {
  const items = text.split(/[\n,]/).map((item) => item.trim());
  const given = items.filter((item) => item !== '');
  return given.length > 0 ? given : null;
}

export const noKey: KeyValues = {
  name: '',
  kind: 'secret',
  scopes: [],
  domains: '',
  events: '',
  cidrs: '',
  expiresAt: '',
};

export function valuesOfKey(key: ApiKey): KeyValues {
  return {
    name: key.name,
    kind: key.kind,
    scopes: key.scopes,
    domains: linesOf(key.domains),
    events: linesOf(key.events),
    cidrs: linesOf(key.cidrs),
    expiresAt: typedOf(key.expiresAt, 'moment'),
  };
}

/**
 * Returns a typed time in the API's format; null: no time is typed. Text that is no time is
 * returned unchanged, so that the API refuses it.
 */
export function endOf(typed: string): string | null {
  if (typed === '') return null;
  return (valueOf(typed, 'moment') as string | undefined) ?? typed;
}

/**
 * Returns the settings in the API's format, without settings that this kind of key does not have.
 */
export function bodyOfKey(values: KeyValues): CreateApiKeyRequest {
  const { kind } = values;
  return {
    name: values.name,
    kind,
    cidrs: itemsOf(values.cidrs),
    expiresAt: endOf(values.expiresAt),
    ...(kind === 'public'
      ? { events: itemsOf(values.events) }
      : { scopes: [...values.scopes] as Body['scopes'], domains: itemsOf(values.domains) }),
  };
}

/**
 * Returns only the changed settings. An unchanged expiry in the past must not be sent, because the
 * API would refuse it.
 */
export function changedSettings(
  values: KeyValues,
  before: KeyValues,
): Partial<CreateApiKeyRequest> {
  const old = bodyOfKey(before);
  const entries = Object.entries(bodyOfKey(values)).filter(
    ([field, value]) =>
      JSON.stringify(value) !== JSON.stringify(old[field as keyof CreateApiKeyRequest]),
  );
  return Object.fromEntries(entries);
}
