import { type Target, presentOne, origin } from './liquid-context.ts';
import type { TemplatePiece } from './source.ts';

/**
 * A template of plain text and plain names, `{{name}}` or `{{name ?? you}}`, as most are. If no
 * value is a list or an object, it is rendered without Liquid. The result is the same, and Liquid
 * would take ten times as long.
 */
export interface PlainTemplate {
  /** The text around the names. There is one piece more than names. */
  texts: string[];
  names: { name: string; fallback: string | undefined }[];
}

/** The variables to which plain names can refer. */
interface PlainVariables {
  contact: { id: string; email: string; subscribed: boolean; data: Record<string, unknown> | null };
  given?: unknown;
  context?: unknown;
  optIn?: unknown;
  locale: string;
  urls: Record<string, string>;
}

const plainName = /^[a-z_]\w*$/i;
/** Names that have a special meaning in Liquid. */
const liquidNames = new Set(
  'true false nil null empty blank and or not contains size first last data event contact'.split(
    ' ',
  ),
);
/**
 * Maximum number of characters of the result. A longer result is left to Liquid, which enforces the
 * much higher limit of a rendering.
 */
const charsMax = 500_000;

/** Returns a template as text and plain names; null: the template has other parts, too. */
export function plainTemplate(pieces: readonly TemplatePiece[]): PlainTemplate | null {
  const plain: PlainTemplate = { texts: [''], names: [] };
  for (const { written, liquid, path, fallback } of pieces) {
    const [name = '', ...inside] = path ?? [];
    if (!path) {
      if (liquid !== written || /\{[{%]/.test(written)) return null;
      plain.texts[plain.names.length] += written;
      continue;
    }
    if (inside.length > 0 || !plainName.test(name) || liquidNames.has(name)) return null;
    // A dash strips the white space around the name.
    if (/^\{\{-|-\}\}$/.test(liquid)) return null;
    plain.names.push({ name, fallback });
    plain.texts.push('');
  }
  return plain;
}

/**
 * Returns the rendered text; null: Liquid must render the template, because of its variables or its
 * length.
 */
export function renderPlain(
  { texts, names }: PlainTemplate,
  variables: PlainVariables,
  target: Target,
): string | null {
  if (variables.given || variables.context || variables.optIn) return null;
  let text = texts[0] ?? '';
  for (const [index, { name, fallback }] of names.entries()) {
    const system = systemValue(name, variables);
    const value = system ?? storedValue(name, variables);
    if (typeof value === 'object' && value !== null) return null;
    if (fallback !== undefined && (value === undefined || value === null || value === '')) {
      text += fallback;
    } else {
      text += presentOne(value, system === undefined ? origin.stored : origin.trusted, target);
    }
    text += texts[index + 1] ?? '';
    if (text.length > charsMax) return null;
  }
  return text;
}

function systemValue(name: string, { contact, urls }: PlainVariables): unknown {
  if (name === 'id' || name === 'svc_id') return contact.id;
  if (name === 'subscribed') return contact.subscribed;
  return Object.hasOwn(urls, name) ? urls[name] : undefined;
}

/** Returns the value of a name that contacts or customers wrote. */
function storedValue(name: string, { contact, locale }: PlainVariables): unknown {
  if (name === 'email' || name === 'svc_email') return contact.email;
  if (name === 'locale') return locale;
  const { data } = contact;
  return data && Object.hasOwn(data, name) ? data[name] : undefined;
}
