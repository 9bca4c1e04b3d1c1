import type { Template } from 'liquidjs';
import { limits } from '../limits.ts';
import { faultOf, faultText, type TemplateFault, tooLong } from './faults.ts';
import { parseLiquid, renderChars, renderLiquid } from './liquid.ts';
import { type PlainTemplate, plainTemplate, renderPlain } from './plain.ts';
import { escapeHtml } from './html.ts';
import { readTemplate } from './source.ts';
import { storableText } from '../text-rules.ts';
import {
  type Target,
  type TemplateScope,
  htmlTarget,
  origin,
  present,
  subjectTarget,
  textTarget,
} from './liquid-context.ts';

/** All variables of a template. */
export interface TemplateVariables {
  /** The project of the template: projects take turns in the queue for rendering. */
  owner?: string;
  contact: {
    id: string;
    email: string;
    subscribed: boolean;
    /** Stored data, after the write of the request. */
    data: Record<string, unknown> | null;
  };
  /**
   * Values from the `/v1/send` request itself, stored or not. They override stored data and are
   * inserted into HTML as they are: the holder of the secret key is trusted.
   */
  given?: Record<string, unknown> | undefined;
  /** Execution context of a workflow; also available as `event.`. */
  context?: Record<string, unknown> | null | undefined;
  /** `data.locale` of the contact, else the language of the project. */
  locale: string;
  urls: { unsubscribeUrl: string; subscribeUrl: string; manageUrl: string };
  /** Of a confirmation mail: its link, and the names of the topics that it asks about. */
  optIn?: { confirmUrl: string; confirmTopics: readonly string[] };
}

/** A template that can be rendered many times; it is parsed on first use. */
export class CompiledTemplate {
  readonly source: string;
  #parsed: Parsed | undefined;
  #weight: number | undefined;
  #plain: PlainTemplate | null | undefined;

  constructor(source: string) {
    this.source = source;
  }

  /** null when it is not valid Liquid. */
  get nodes(): Template[] | null {
    this.#parsed ??= parsed(this.source);
    return this.#parsed.nodes;
  }

  /** Why it is not valid Liquid; null when it is. */
  get fault(): TemplateFault | null {
    this.#parsed ??= parsed(this.source);
    return this.#parsed.fault;
  }

  /** Set when it is text with plain names. */
  get plain(): PlainTemplate | null {
    if (this.#plain === undefined) {
      const isReadable = isQuicklyRead(this.source);
      this.#plain = isReadable ? plainTemplate(readTemplate(this.source)) : null;
    }
    return this.#plain;
  }

  /** See `templateWeight`. */
  get weight(): number {
    this.#weight ??= templateWeight(this.source);
    return this.#weight;
  }
}

type Parsed = { nodes: Template[]; fault: null } | { nodes: null; fault: TemplateFault };

function parsed(source: string): Parsed {
  if (isTooLong(source)) return { nodes: null, fault: tooLong };
  try {
    return { nodes: parseLiquid(toLiquid(source), false), fault: null };
  } catch (error) {
    return { nodes: null, fault: faultOf(error, source) };
  }
}

/** Compiles a template. Never throws: an invalid one renders by plain replacement. */
export function compileTemplate(source: string): CompiledTemplate {
  return new CompiledTemplate(source);
}

export type TemplateCheck = { ok: true } | { ok: false; message: string };

/**
 * Checks a template before it is saved: at most 2 MB, correct Liquid, only known tags and filters.
 * `message` says what is wrong and where (line and column).
 */
export function checkTemplate(source: string): TemplateCheck {
  if (isTooLong(source)) return { ok: false, message: tooLong.message };
  try {
    parseLiquid(toLiquid(source), true);
    return { ok: true };
  } catch (error) {
    return { ok: false, message: faultText(faultOf(error, source)) };
  }
}

/**
 * What a template is rendered for.
 *  - `html`: a body. Stored values are escaped.
 *  - `text`: not HTML (webhooks, addresses). Nothing is escaped.
 *  - `subject`: one header line. Control characters and line breaks become one space, at most 998
 *    characters (the longest line of RFC 5322), never empty.
 */
export type RenderKind = 'html' | 'text' | 'subject';

const targets = { html: htmlTarget, text: textTarget, subject: subjectTarget };

/** A text made of a template. */
export interface Rendered {
  text: string;
  /** Why only `{{key}}` and `{{key ?? text}}` were replaced; null: it was rendered as a whole. */
  fault: TemplateFault | null;
}

/** Renders a template synchronously, however long it takes. Never throws. */
export function renderTemplate(
  kind: RenderKind,
  template: CompiledTemplate,
  variables: TemplateVariables,
): Rendered {
  const target = targets[kind];
  const written = inFormOf(kind, variables);
  const plain = template.plain && renderPlain(template.plain, written, target);
  if (plain !== null) return { text: finished(kind, plain), fault: null };
  const { nodes } = template;
  if (nodes === null) return renderPlainly(kind, template, variables, template.fault ?? tooLong);
  try {
    const text = finished(kind, renderLiquid(nodes, templateScope(written), target));
    return { text, fault: null };
  } catch (error) {
    // A template error never blocks a send.
    return renderPlainly(kind, template, variables, faultOf(error, template.source));
  }
}

/** The variables as a text of this kind has them: in HTML the links are written as HTML. */
function inFormOf(kind: RenderKind, variables: TemplateVariables): TemplateVariables {
  const { unsubscribeUrl, subscribeUrl, manageUrl } = variables.urls;
  // Only the link of a topic has a character to escape.
  if (kind !== 'html' || !unsubscribeUrl.includes('&')) return variables;
  return {
    ...variables,
    urls: {
      unsubscribeUrl: escapeHtml(unsubscribeUrl),
      subscribeUrl: escapeHtml(subscribeUrl),
      manageUrl: escapeHtml(manageUrl),
    },
  };
}

/** Only replaces `{{key}}` and `{{key ?? text}}`: for a template with a fault. */
export function renderPlainly(
  kind: RenderKind,
  template: CompiledTemplate,
  variables: TemplateVariables,
  fault: TemplateFault,
): Rendered {
  const scope = templateScope(inFormOf(kind, variables));
  const text = replacePlainly(template.source, scope, targets[kind]);
  return { text: finished(kind, text), fault };
}

/** Whether rendering the templates is cheap enough to do it inline. */
export function isCheapRendering(
  templates: readonly CompiledTemplate[],
  { contact, given, context }: TemplateVariables,
): boolean {
  const weight = templates.reduce((sum, template) => sum + template.weight, 0);
  return isCheap(weight, [contact.data, given, context]);
}

/** Renders a template synchronously, like `renderTemplate`, if that is cheap; null: it is not. */
export function renderIfCheap(
  kind: RenderKind,
  template: CompiledTemplate,
  variables: TemplateVariables,
): Rendered | null {
  const isCheap = isCheapRendering([template], variables);
  return isCheap ? renderTemplate(kind, template, variables) : null;
}

/**
 * Renders templates within one second and ten megabytes, without blocking the event loop. Never
 * rejects because of a template.
 */
export interface Renderer {
  render(
    kind: RenderKind,
    template: CompiledTemplate,
    variables: TemplateVariables,
  ): Promise<Rendered>;
  /** Texts of one mail, together within the limits of one rendering. */
  renderTexts(sources: readonly string[], variables: TemplateVariables): Promise<string[]>;
}

/** Filters can make what the database cannot store: half a surrogate pair, a decoded NUL. */
function finished(kind: RenderKind, text: string): string {
  if (kind !== 'subject') return storableText(text);
  const line = storableText(text.replace(/[\p{Cc}\p{Zl}\p{Zp}]+/gu, ' ')).trim();
  return cutText(line, limits.subjectChars).trimEnd() || '(no subject)';
}

/**
 * The fallback for a template that is invalid or exceeds a limit: `{{key}}` and `{{key ?? text}}`
 * are replaced, all else stays as written, also a placeholder whose value would make the text too
 * long.
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
 * Merges the variables; later ones win: context, contact data, given values, the namespaces `data.`
 * and `event.`, system. The email address and the locale are system names, but stored text: they
 * stay escaped.
 */
export function templateScope({
  contact,
  given,
  context,
  locale,
  urls,
  optIn,
}: TemplateVariables): TemplateScope {
  const data = Object.fromEntries([
    ...Object.entries(contact.data ?? {}),
    ...Object.entries(given ?? {}),
  ]);
  const stored = {
    email: contact.email,
    svc_email: contact.email,
    locale,
    ...(optIn && { confirmTopics: optIn.confirmTopics }),
  };
  const system = {
    ...urls,
    ...(optIn && { confirmUrl: optIn.confirmUrl }),
    id: contact.id,
    svc_id: contact.id,
    subscribed: contact.subscribed,
  };
  const values: Record<string, unknown> = Object.create(null);
  const namespaces = context ? { data, event: context } : { data };
  const { id, email, subscribed } = contact;
  // `contact.data.plan` as conditions have it; a key of the customer's own wins.
  const whole = { contact: { id, email, subscribed, data } };
  const hasContact = Object.hasOwn(data, 'contact') || Object.hasOwn(context ?? {}, 'contact');
  const layers = [hasContact ? {} : whole, context ?? {}, data, namespaces, stored, system];
  for (const layer of layers) {
    for (const [key, value] of Object.entries(layer)) values[key] = value;
  }
  const isGiven = (name: unknown): boolean => !!given && Object.hasOwn(given, String(name));
  return {
    values,
    data,
    trusts: ([first, second, third]) => {
      const isWhole = first === 'contact' && !hasContact;
      if (isWhole && second !== 'data') return second === 'id' || second === 'subscribed';
      const [name, key] = isWhole ? [second, third] : [first, second];
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

/** Cuts to at most `max` UTF-16 units without splitting a surrogate pair. */
function cutText(text: string, max: number): string {
  if (text.length <= max) return text;
  const splits = /[\ud800-\udbff]/.test(text[max - 1]!);
  return text.slice(0, splits ? max - 1 : max);
}

/**
 * Estimates a template's cost from its source, so that a costly one can be rendered where it blocks
 * nobody. A template is cheap when it is walked once and changes each value in time proportional to
 * its length. Everything unknown counts as costly: loops, ranges, and filters that multiply, split
 * or search.
 */

const cheapTags = new Set(
  `if elsif else endif unless endunless case when endcase raw endraw comment endcomment #`.split(
    ' ',
  ),
);
const cheapFilters = new Set(
  `raw default fallback escape escape_once xml_escape upcase downcase capitalize strip lstrip rstrip
   strip_newlines append prepend truncate size first last json url_encode newline_to_br
   plus minus times divided_by modulo round ceil floor abs at_least at_most date`.split(/\s+/),
);

/** Longer sources, or more text in braces, are costly even to parse. */
const sourceCharsMax = 200_000;
const bracesMax = 1_000;
const weightMax = 2_000;
/** Every operation takes at least this many characters: a word, or a bar and a filter. */
const operationChars = 10;
/** Negligible work: characters processed in about 20 ms. */
const workMax = 20_000_000;

/** Most times a rendering processes a value: once per word in braces. Infinity: unknown. */
export function templateWeight(source: string): number {
  if (!isQuicklyRead(source)) return Infinity;
  let weight = 0;
  for (const { liquid } of readTemplate(source)) {
    const isTag = liquid.startsWith('{%');
    if (!isTag && !liquid.startsWith('{{')) continue;
    weight += Math.ceil(liquid.length / operationChars);
    if (weight > weightMax || (isTag && !isCheapTag(liquid)) || isCostly(liquid)) return Infinity;
  }
  return weight;
}

function isCheapTag(liquid: string): boolean {
  return cheapTags.has(/^\{%-?\s*(#|\w+)/.exec(liquid)?.[1] ?? '');
}

/** Whether it contains a costly filter, or something like one: quotes are not parsed. */
function isCostly(liquid: string): boolean {
  // A range may have any length.
  if (liquid.includes('..')) return true;
  const names = [...liquid.matchAll(/\|\s*([^\s:|}"']*)/g)].map(([, name = '']) => name);
  // A width in a date format pads to any length.
  const dates = names.filter((name) => name === 'date').length;
  const plainDates = liquid.match(/\|\s*date\s*:\s*(?:"[^"\d]*"|'[^'\d]*')/g)?.length ?? 0;
  return dates > plainDates || !names.every((name) => cheapFilters.has(name));
}

/** True for a template that is parsed quickly, whatever it costs to render. */
export function isQuicklyRead(source: string): boolean {
  if (source.length > sourceCharsMax) return false;
  return (source.match(/\{[{%]/g)?.length ?? 0) <= bracesMax;
}

/** True when templates of this weight render these values quickly. */
export function isCheap(weight: number, values: readonly unknown[]): boolean {
  if (weight === Infinity) return false;
  const room = workMax / Math.max(weight, 1);
  return roughChars(values, room) < room;
}

/** Approximate length of the values as text; stops counting at `max`. */
function roughChars(values: readonly unknown[], max: number): number {
  const left: unknown[] = [...values];
  let chars = 0;
  while (left.length > 0 && chars < max) {
    const value = left.pop();
    chars += 8;
    if (typeof value === 'string') chars += value.length;
    else if (typeof value === 'object' && value !== null) {
      for (const [key, item] of Object.entries(value)) {
        chars += key.length;
        left.push(item);
      }
    }
  }
  return chars;
}
