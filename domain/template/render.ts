import type { Template } from 'liquidjs';
import { limits } from '../limits.ts';
import {
  cheapSourceChars,
  cheapValueChars,
  cheapWeight,
  countTags,
  isCheapToRender,
  readingWeight,
  roughChars,
} from './cost.ts';
import { faultOf, faultText, type TemplateFault, tooLong, tooManyTags } from './faults.ts';
import { parseLiquid, renderChars, renderLiquid, startLimits } from './liquid.ts';
import { type PlainTemplate, plainTemplate, renderPlain } from './plain.ts';
import { escapeHtml } from './html.ts';
import { readTemplate, type TemplatePiece } from './source.ts';
import { cutText, storableText } from '../text-rules.ts';
import {
  type RenderLimits,
  type Target,
  type TemplateScope,
  htmlTarget,
  mapStrings,
  origin,
  present,
  slotsTarget,
  textTarget,
  namedPath,
} from './liquid-context.ts';

export interface TemplateVariables {
  /** The project of the template. Projects take turns in the queue for renderings. */
  owner?: string;
  contact: {
    id: string;
    email: string;
    subscribed: boolean;
    /** The contact's stored data, including changes by the request. */
    data: Record<string, unknown> | null;
  };
  /**
   * Values from the `/v1/send` request itself, whether stored or not. They override stored data and
   * are inserted into HTML unescaped, because the holder of the secret key is trusted.
   */
  given?: Record<string, unknown> | undefined;
  /** The context of an execution. Templates can also read it as `event.`. */
  context?: Record<string, unknown> | null | undefined;
  /** `data.locale` of the contact, otherwise the language of the project. */
  locale: string;
  urls: { unsubscribeUrl: string; subscribeUrl: string; manageUrl: string };
  /** The time that date filters take for `now`, in a simulation. Absent: the real time. */
  now?: Date;
  /** The link of a confirmation mail, and the names of the topics that it asks about. */
  optIn?: { confirmUrl: string; confirmTopics: readonly string[] };
}

/** A template that can be rendered many times. It is parsed on first use. */
export class CompiledTemplate {
  readonly source: string;
  #read: TemplatePiece[] | undefined;
  #parsed: Parsed | undefined;
  #reading: number | undefined;
  #weight: number | undefined;
  #plain: PlainTemplate | null | undefined;

  constructor(source: string) {
    this.source = source;
  }

  get #pieces(): readonly TemplatePiece[] {
    this.#read ??= readTemplate(this.source);
    return this.#read;
  }

  /** The parsed template; null: it is not valid Liquid. */
  get nodes(): Template[] | null {
    this.#parsed ??= parsed(this.source, () => this.#pieces);
    return this.#parsed.nodes;
  }

  /** Why the template is not valid Liquid; null: it is valid. */
  get fault(): TemplateFault | null {
    this.#parsed ??= parsed(this.source, () => this.#pieces);
    return this.#parsed.fault;
  }

  /** The template as text with plain names; null: it is more complex, or takes long to parse. */
  get plain(): PlainTemplate | null {
    if (this.#plain === undefined) {
      this.#plain = this.isQuicklyRead ? plainTemplate(this.#pieces) : null;
    }
    return this.#plain;
  }

  /** True if the template is a single expression and nothing else. */
  get isLone(): boolean {
    return this.isQuicklyRead && this.#pieces.length === 1 && this.source.startsWith('{{');
  }

  /** True if the template is parsed quickly. Its rendering may still be costly. */
  get isQuicklyRead(): boolean {
    return this.#readingWeight < Infinity;
  }

  /**
   * The approximate cost of rendering the template, as its number of words in braces. Infinity:
   * costly, or unknown.
   */
  get weight(): number {
    this.#weight ??=
      this.isQuicklyRead && isCheapToRender(this.#pieces) ? this.#readingWeight : Infinity;
    return this.#weight;
  }

  get #readingWeight(): number {
    this.#reading ??= readingWeight(this.source, () => this.#pieces);
    return this.#reading;
  }
}

type Parsed = { nodes: Template[]; fault: null } | { nodes: null; fault: TemplateFault };

function parsed(source: string, read: () => readonly TemplatePiece[]): Parsed {
  const fault = sizeFault(source);
  if (fault) return { nodes: null, fault };
  try {
    return { nodes: parseLiquid(toLiquid(read()), false), fault: null };
  } catch (error) {
    return { nodes: null, fault: faultOf(error, source) };
  }
}

/** Compiles a template. Never throws: in an invalid template, only placeholders are replaced. */
export function compileTemplate(source: string): CompiledTemplate {
  return new CompiledTemplate(source);
}

export type TemplateCheck = { ok: true } | { ok: false; message: string };

/**
 * Checks a template before it is saved: its size, its number of tags, its syntax, and that all tags
 * and filters are known. `message`: the error, with its line and column if known.
 */
export function checkTemplate(source: string): TemplateCheck {
  const fault = findTemplateFault(source);
  return fault ? { ok: false, message: faultText(fault) } : { ok: true };
}

/** Returns the error for which `checkTemplate` refuses a template; null: there is none. */
export function findTemplateFault(source: string): TemplateFault | null {
  const fault = sizeFault(source);
  if (fault) return fault;
  try {
    parseLiquid(toLiquid(readTemplate(source)), true);
    return null;
  } catch (error) {
    return faultOf(error, source);
  }
}

/**
 * The purpose of a rendering.
 * - `html`: a body. Stored values are escaped.
 * - `slots`: values for HTML that are escaped later. Lists are written as in HTML.
 * - `text`: not HTML (webhooks, addresses). Nothing is escaped, lists are joined by commas.
 * - `subject`: a header line of 1 to 998 characters (RFC 5322). Control characters and line breaks
 *   become spaces.
 */
export type RenderKind = 'html' | 'slots' | 'text' | 'subject';

const targets = { html: htmlTarget, slots: slotsTarget, text: textTarget, subject: textTarget };

export interface Rendered {
  text: string;
  /** Why only placeholders were replaced; null: the template was fully rendered. */
  fault: TemplateFault | null;
  /**
   * Set for a `text` template that is a single expression whose value is a number, a boolean, a
   * list or an object.
   */
  value?: unknown;
}

/** Renders templates synchronously, together within the limits of one rendering. Never throws. */
export function renderTemplates(
  kind: RenderKind,
  templates: readonly CompiledTemplate[],
  variables: TemplateVariables,
): Rendered[] {
  // The time for parsing does not count towards the limit.
  const faults = templates.map(({ fault }) => fault);
  const limits = startLimits();
  return templates.map((template, index) => {
    const fault = faults[index];
    if (fault) return renderPlainly(kind, template, variables, fault);
    try {
      return renderWhole(kind, template, variables, limits);
    } catch (error) {
      // A template with an error is rendered plainly, so that an error never blocks a mail.
      return renderPlainly(kind, template, variables, faultOf(error, template.source));
    }
  });
}

export function renderTemplate(
  kind: RenderKind,
  template: CompiledTemplate,
  variables: TemplateVariables,
): Rendered {
  const [rendered] = renderTemplates(kind, [template], variables);
  return rendered!;
}

/**
 * Maximum number of characters that cheap renderings may build, not counting the text of their
 * templates. Building this many takes about 10 ms.
 */
export const cheapChars = 100_000;
/** Time limit in milliseconds for cheap renderings. */
const cheapMs = 40;

/**
 * Renders templates like `renderTemplates`, but returns null for costly ones. Takes about 50 ms at
 * most.
 */
export function renderIfCheap(
  kind: RenderKind,
  templates: readonly CompiledTemplate[],
  variables: TemplateVariables,
): Rendered[] | null {
  const sourceChars = templates.reduce((sum, { source }) => sum + source.length, 0);
  if (templates.length > cheapWeight || sourceChars > cheapSourceChars) return null;
  const weight = templates.reduce((sum, template) => sum + template.weight, 0);
  const values = [variables.contact.data, variables.given, variables.context];
  if (weight > cheapWeight || roughChars(values, cheapValueChars) >= cheapValueChars) return null;
  if (!templates.every(({ plain, nodes }) => plain ?? nodes)) return null;
  const limits = startLimits({ chars: cheapChars + sourceChars, ms: cheapMs });
  try {
    return templates.map((template) => renderWhole(kind, template, variables, limits));
  } catch {
    return null;
  }
}

/**
 * Renders a whole template, with all its tags and filters.
 * @throws Error when the template is not valid, or a limit is exceeded
 */
function renderWhole(
  kind: RenderKind,
  template: CompiledTemplate,
  variables: TemplateVariables,
  limits: RenderLimits,
): Rendered {
  const target = targets[kind];
  const written = inFormOf(kind, variables);
  const isValue = kind === 'text' && template.isLone;
  const plain = isValue || !template.plain ? null : renderPlain(template.plain, written, target);
  if (plain !== null) {
    limits.memoryLimit.use(plain.length);
    return { text: finished(kind, plain), fault: null };
  }
  if (template.nodes === null) throw new TypeError('The template is not valid.');
  const { text, shown } = renderLiquid(template.nodes, templateScope(written), target, limits);
  const rendered = { text: finished(kind, text), fault: null };
  return isValue && isTyped(shown)
    ? { ...rendered, value: mapStrings(shown, storableText) }
    : rendered;
}

/**
 * Returns true if a value has a type besides its text: a number, a boolean, a list or an object.
 * Nil, and numbers that JSON cannot represent, count as text.
 */
function isTyped(value: unknown): boolean {
  if (typeof value === 'number') return Number.isFinite(value);
  return typeof value === 'boolean' || (typeof value === 'object' && value !== null);
}

/** Returns the variables for a kind of rendering. For HTML, the links in them are escaped. */
function inFormOf(kind: RenderKind, variables: TemplateVariables): TemplateVariables {
  const { unsubscribeUrl, subscribeUrl, manageUrl } = variables.urls;
  // Only the link of a topic contains a character that needs escaping.
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

/**
 * Replaces only `{{key}}` and `{{key ?? text}}`, for a template with a fault.
 * @param charsMax maximum length of the text. A placeholder whose value would exceed it stays as
 * written.
 */
export function renderPlainly(
  kind: RenderKind,
  template: CompiledTemplate,
  variables: TemplateVariables,
  fault: TemplateFault,
  charsMax = renderChars,
): Rendered {
  const scope = templateScope(inFormOf(kind, variables));
  const room = Math.max(charsMax - template.source.length, 0);
  const text = replacePlainly(template.source, scope, targets[kind], room);
  return { text: finished(kind, text), fault };
}

/**
 * Renders templates without blocking the event loop, within the limits of `startLimits`. Never
 * rejects because of a template.
 */
export interface Renderer {
  render(
    kind: RenderKind,
    template: CompiledTemplate,
    variables: TemplateVariables,
  ): Promise<Rendered>;
  /** Renders texts that share the limits of one rendering. */
  renderTexts(sources: readonly string[], variables: TemplateVariables): Promise<Rendered[]>;
}

/**
 * Replaces text that the database cannot store: NUL, and halves of surrogate pairs, which a filter
 * can create.
 */
function finished(kind: RenderKind, text: string): string {
  if (kind !== 'subject') return storableText(text);
  const line = storableText(text.replace(/[\p{Cc}\p{Zl}\p{Zp}]+/gu, ' ')).trim();
  return cutText(line, limits.subjectChars).trimEnd() || '(no subject)';
}

/**
 * Replaces `{{key}}` and `{{key ?? text}}` in a template that is invalid or exceeds a limit.
 * Everything else stays as written, also a placeholder whose value would make the text too long.
 */
function replacePlainly(
  source: string,
  scope: TemplateScope,
  target: Target,
  room: number,
): string {
  let left = room;
  let output = '';
  for (const { written, path, fallback } of readTemplate(source)) {
    const text = path ? plainValue(path, fallback, scope, target, left) : undefined;
    if (text === undefined || text.length > left) {
      output += written;
    } else {
      output += text;
      left -= text.length;
    }
  }
  return output;
}

/**
 * Returns the text of a value. Returns undefined when the value is nested too deeply to be written,
 * or longer than `charsMax`.
 */
function plainValue(
  path: readonly string[],
  fallback: string | undefined,
  scope: TemplateScope,
  target: Target,
  charsMax: number,
): string | undefined {
  let value: unknown = scope.values;
  const own = namedPath(scope.values, path) as readonly string[];
  for (const key of own) {
    const isObject = typeof value === 'object' && value !== null;
    value =
      isObject && Object.hasOwn(value as object, key)
        ? (value as Record<string, unknown>)[key]
        : undefined;
  }
  if (fallback !== undefined && (value === undefined || value === null || value === '')) {
    return fallback;
  }
  // Check the length first, so that no text is written that is too long.
  if (typeof value === 'string' && value.length > charsMax) return undefined;
  if (typeof value === 'object' && roughChars([value], charsMax) >= charsMax) return undefined;
  try {
    return present(value, scope.trusts(own) ? origin.trusted : origin.stored, target, scope);
  } catch {
    return undefined;
  }
}

/**
 * Merges the variables. Later ones override earlier ones: context, contact data, given values, the
 * namespaces `data.` and `event.`, system names. The email address and the locale are system names,
 * but they are stored text and so are escaped.
 */
export function templateScope({
  contact,
  given,
  context,
  locale,
  urls,
  now,
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
  // `contact.data.plan` works as in conditions, unless the customer's data contain a key `contact`.
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
    now,
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

function toLiquid(pieces: readonly TemplatePiece[]): string {
  return pieces.map(({ liquid }) => liquid).join('');
}

function sizeFault(source: string): TemplateFault | null {
  const { templateBytes, templateTags } = limits;
  // UTF-8 needs at most three bytes for each UTF-16 unit.
  const isLong = source.length * 3 > templateBytes;
  if (isLong && new TextEncoder().encode(source).length > templateBytes) return tooLong;
  return countTags(source) > templateTags ? tooManyTags : null;
}
