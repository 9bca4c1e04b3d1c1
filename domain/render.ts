import type { Template } from 'liquidjs';
import { limits } from './limits.ts';
import { parseLiquid, renderChars, renderLiquid } from './liquid.ts';
import { readTemplate } from './template-source.ts';
import {
  htmlTarget,
  origin,
  present,
  subjectTarget,
  textTarget,
  type Target,
  type TemplateScope,
} from './template-value.ts';

/** Everything a template can name. */
export interface RenderScope {
  contact: {
    id: string;
    email: string;
    subscribed: boolean;
    /** Stored data, as it is after the write of the request. */
    data: Record<string, unknown> | null;
  };
  /**
   * Values the `/v1/send` request itself gave, whether they were stored or not. They win over
   * stored data and are inserted into HTML as they are: the secret key vouches for them.
   */
  given?: Record<string, unknown> | undefined;
  /** Execution context of a workflow; also under `event.`. */
  context?: Record<string, unknown> | null | undefined;
  /** `data.locale` of the contact, else the language of the project. */
  locale: string;
  urls: { unsubscribeUrl: string; subscribeUrl: string; manageUrl: string };
}

/** A template ready to be rendered any number of times. `nodes` is absent when it is no Liquid. */
export interface CompiledTemplate {
  readonly source: string;
  readonly nodes?: Template[];
}

/** Compiles a template. Never throws: a faulty one renders by plain replacement. */
export function compileTemplate(source: string): CompiledTemplate {
  if (isTooLong(source)) return { source };
  try {
    return { source, nodes: parseLiquid(toLiquid(source), false) };
  } catch {
    return { source };
  }
}

/**
 * Judges a template before it is saved: at most 2 MB, correct Liquid, known tags and filters only.
 * `message` says what is wrong and where (line and column).
 */
export function checkTemplate(source: string): { ok: true } | { ok: false; message: string } {
  if (isTooLong(source)) return { ok: false, message: 'The template is longer than 2 MB.' };
  try {
    parseLiquid(toLiquid(source), true);
    return { ok: true };
  } catch (error) {
    return { ok: false, message: error instanceof Error ? error.message : 'Not valid Liquid.' };
  }
}

/** Renders an HTML body: stored values are escaped. Never throws. */
export function renderHtml(template: CompiledTemplate, scope: RenderScope): string {
  return render(template, scope, htmlTarget);
}

/** Renders text that is no HTML (webhook bodies, addresses): nothing is escaped. Never throws. */
export function renderText(template: CompiledTemplate, scope: RenderScope): string {
  return render(template, scope, textTarget);
}

/**
 * Renders a subject as one header line: control characters and line breaks become one space, at
 * most 998 characters (the longest line of RFC 5322), never empty. Never throws.
 */
export function renderSubject(template: CompiledTemplate, scope: RenderScope): string {
  const line = render(template, scope, subjectTarget)
    .replace(/[\p{Cc}\p{Zl}\p{Zp}]+/gu, ' ')
    .trim();
  return cutText(line, limits.subjectChars).trimEnd() || '(no subject)';
}

function render(template: CompiledTemplate, scope: RenderScope, target: Target): string {
  if (template.nodes) {
    try {
      return renderLiquid(template.nodes, templateScope(scope), target);
    } catch {
      // A send is never blocked by its template.
    }
  }
  return replacePlainly(template.source, templateScope(scope), target);
}

/**
 * The plan for a template that is no Liquid or exceeds a limit: `{{key}}` and `{{key ?? text}}` are
 * replaced, all else stays as written, also a placeholder whose value would make the text too long.
 */
function replacePlainly(source: string, scope: TemplateScope, target: Target): string {
  let room = Math.max(renderChars - source.length, 0);
  let output = '';
  for (const { written, path, fallback } of readTemplate(source)) {
    const text = path ? plainValue(path, fallback, scope, target) : undefined;
    if (text === undefined || text.length > room) {
      output += written;
    } else {
      output += text;
      room -= text.length;
    }
  }
  return output;
}

/** Undefined when the value is nested too deeply to be written. */
function plainValue(
  path: readonly string[],
  fallback: string | undefined,
  scope: TemplateScope,
  target: Target,
): string | undefined {
  let value: unknown = scope.values;
  for (const key of path) {
    const isObject = typeof value === 'object' && value !== null;
    value =
      isObject && Object.hasOwn(value as object, key)
        ? (value as Record<string, unknown>)[key]
        : undefined;
  }
  if (fallback !== undefined && (value === undefined || value === null || value === '')) {
    return fallback;
  }
  try {
    return present(value, scope.trusts(path) ? origin.trusted : origin.stored, target, scope);
  } catch {
    return undefined;
  }
}

/**
 * Lays the names over each other; later ones win: context, contact data, given values, the
 * namespaces `data.` and `event.`, system.
 * Addresses and the locale are the system's names, but stored text: they stay escaped.
 */
function templateScope({ contact, given, context, locale, urls }: RenderScope): TemplateScope {
  const data = Object.fromEntries([
    ...Object.entries(contact.data ?? {}),
    ...Object.entries(given ?? {}),
  ]);
  const stored = { email: contact.email, svc_email: contact.email, locale };
  const system = { ...urls, id: contact.id, svc_id: contact.id, subscribed: contact.subscribed };
  const values: Record<string, unknown> = Object.create(null);
  const namespaces = context ? { data, event: context } : { data };
  const layers = [context ?? {}, data, namespaces, stored, system];
  for (const layer of layers) {
    for (const [key, value] of Object.entries(layer)) values[key] = value;
  }
  const isGiven = (name: unknown): boolean => !!given && Object.hasOwn(given, String(name));
  return {
    values,
    data,
    trusts: ([name, key]) => {
      if (name === 'data') return key !== undefined && isGiven(key);
      if (Object.hasOwn(stored, String(name)) || (name === 'event' && context)) return false;
      return Object.hasOwn(system, String(name)) || isGiven(name);
    },
  };
}

function toLiquid(source: string): string {
  return readTemplate(source)
    .map((piece) => piece.liquid)
    .join('');
}

function isTooLong(source: string): boolean {
  if (source.length > limits.templateBytes) return true;
  return new TextEncoder().encode(source).length > limits.templateBytes;
}

/** Cuts to at most `max` UTF-16 units without splitting a character in two. */
function cutText(text: string, max: number): string {
  if (text.length <= max) return text;
  const splits = /[\ud800-\udbff]/.test(text[max - 1]!);
  return text.slice(0, splits ? max - 1 : max);
}
