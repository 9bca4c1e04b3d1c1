import { Context, toValue, type Emitter, type Liquid, type Value } from 'liquidjs';
import { ownPath, readPath } from '../filter/value.ts';
import { escapeHtml } from './html.ts';

/** Number of characters that one item in a loop or filter counts as, for the limit. */
const itemChars = 8;

/** The remaining budget of renderings that share one limit: output characters and time. */
export type RenderLimits = Pick<Context, 'memoryLimit' | 'renderLimit'>;

/**
 * Keeps track of the origin of texts, so that stored text is escaped unless the template uses the
 * filter `raw`. An expression has the least trusted origin of the variables that it read, and
 * `assign`, `capture` and loops keep this origin. Anything unknown counts as stored.
 */
export class TracingContext extends Context {
  readonly scope: TemplateScope;
  readonly target: Target;
  /** The least trusted origin that the current expression has read so far. */
  from: Origin = origin.trusted;
  /** The least trusted origin of the text written since `capture` last reset this field. */
  written: Origin = origin.trusted;
  /** The origin of the list over which a loop is about to run. */
  loopFrom: Origin = origin.stored;
  /** The value of the last expression. */
  shown: unknown;
  readonly #locals = new Map<string, Origin>();
  readonly #frames: { scope: object; from: Origin }[] = [];

  constructor(engine: Liquid, scope: TemplateScope, target: Target, limits: RenderLimits) {
    super(scope.values, engine.options, { sync: true }, { liquid: engine, ...limits });
    this.scope = scope;
    this.target = target;
  }

  override *_get(path: Parameters<Context['_get']>[0]): IterableIterator<unknown> {
    const own = this.#isLocal(path) ? path : (namedPath(this.scope.values, path) as typeof path);
    const value: unknown = yield super._get(own);
    if (carriesText(value)) this.from = least(this.from, this.#originOf(own));
    return value;
  }

  override push(scope: object): number {
    this.memoryLimit.use(itemChars);
    const isLoop = 'forloop' in scope || 'tablerowloop' in scope;
    this.#frames.push({ scope, from: isLoop ? this.loopFrom : origin.stored });
    if (isLoop) this.loopFrom = origin.stored;
    return super.push(scope);
  }

  override pop() {
    this.#frames.pop();
    return super.pop();
  }

  override spawn(scope?: object): Context {
    this.memoryLimit.use(itemChars);
    return super.spawn(scope);
  }

  bind(name: string, value: unknown, from: Origin): void {
    this.bottom()[name] = value;
    this.#locals.set(name, from);
  }

  show(value: unknown): string {
    this.shown = value;
    this.written = least(this.written, this.from);
    return present(value, this.from, this.target, this.scope);
  }

  /** Returns true if a tag of the template has bound the name. */
  #isLocal(path: readonly unknown[]): boolean {
    const name = String(path[0]);
    return name in this.bottom() || this.#frames.some(({ scope }) => name in scope);
  }

  #originOf(path: readonly unknown[]): Origin {
    const name = String(path[0]);
    const frame = this.#frames.findLast(({ scope }) => name in scope);
    if (frame) return frame.from;
    if (name in this.bottom()) return this.#locals.get(name) ?? origin.stored;
    return this.scope.trusts(path) ? origin.trusted : origin.stored;
  }
}

/**
 * Returns the path under which a name is found, at the top or in a namespace. As in conditions, a
 * key that contains dots has precedence.
 */
export function namedPath(values: unknown, path: readonly unknown[]): readonly unknown[] {
  if (path.length < 2 || !path.every((part) => typeof part === 'string')) return path;
  const own = ownPath(values, path);
  if (own !== path) return own;
  const depth = path[0] === 'contact' ? 2 : ['data', 'event'].includes(path[0] ?? '') ? 1 : 0;
  if (depth === 0) return path;
  const [spaces, rest] = [path.slice(0, depth), path.slice(depth)];
  return [...spaces, ...ownPath(readPath(values, spaces), rest)];
}

/** Numbers, booleans and null cannot contain markup. */
function carriesText(value: unknown): boolean {
  return (typeof value === 'string' && value !== '') || (typeof value === 'object' && !!value);
}

/** Returns the less trusted of two origins. */
export function least(a: Origin, b: Origin): Origin {
  return a > b ? a : b;
}

/**
 * Returns a context of liquidjs as the `TracingContext` that it is.
 * @throws TypeError for any other context
 */
export function traced(context: Context): TracingContext {
  if (context instanceof TracingContext) return context;
  throw new TypeError('Unexpected context: templates are rendered in a TracingContext.');
}

/** Evaluates an expression, and sets `context.from` to the origin of its value. */
export function* evaluate(
  value: Value,
  context: TracingContext,
): Generator<unknown, unknown, unknown> {
  context.from = origin.trusted;
  let result = yield value.initial.evaluate(context, false);
  for (const filter of value.filters) {
    const before: Origin = context.from;
    const next: unknown = yield filter.render(result, context);
    // The default was not used, so it does not change the origin.
    if (filter.name === 'default' && next === result) context.from = before;
    result = next;
  }
  return toValue(result);
}

/** Collects output, and counts its characters for the limit of the rendering. */
export class LimitedEmitter implements Emitter {
  buffer = '';
  readonly #limit: Context['memoryLimit'];

  constructor(context: Context) {
    this.#limit = context.memoryLimit;
  }

  write(piece: unknown): void {
    const text = String(piece);
    this.#limit.use(text.length);
    this.buffer += text;
  }
}

/**
 * The origin of a text. Only `stored` text is escaped in HTML.
 * - `trusted`: the template itself, the request that sends the mail, or the system
 * - `escaped`: stored text that is already escaped
 * - `stored`: contact data, events and context, which anyone with a public key can write
 */
export const origin = { trusted: 0, escaped: 1, stored: 2 } as const;
export type Origin = (typeof origin)[keyof typeof origin];

/** The variables of one rendering. */
export interface TemplateScope {
  /** All top-level names. The object has no prototype, so it has no inherited names. */
  values: Record<string, unknown>;
  /** The object under the name `data`: stored and given values, merged. */
  data: Record<string, unknown>;
  /** Returns true when the value at this path came from the request or the system. */
  trusts(path: readonly unknown[]): boolean;
  /** See `TemplateVariables`. */
  now?: Date | undefined;
}

/** How a rendering writes values: the escaping of stored text, and the form of lists. */
export interface Target {
  escape: (text: string) => string;
  list: (items: string[]) => string;
}

const asIs = (text: string): string => text;
const listItems = (items: string[]): string => items.map((item) => `<li>${item}</li>`).join('\n');

export const htmlTarget: Target = { escape: escapeHtml, list: listItems };
/** Writes values into a text that is not HTML. */
export const textTarget: Target = { escape: asIs, list: (items) => items.join(', ') };
/** Writes values unescaped. They are escaped later, when they are inserted into HTML. */
export const slotsTarget: Target = { escape: asIs, list: listItems };

/** Writes a value as text: a list item by item, an object as JSON, undefined and null as ''. */
export function present(
  value: unknown,
  from: Origin,
  target: Target,
  scope: TemplateScope,
): string {
  if (Array.isArray(value)) return target.list(value.map((item) => presentOne(item, from, target)));
  if (value === scope.data && from === origin.stored) {
    const entries = Object.entries(scope.data).map(([key, item]) => {
      const own = scope.trusts(['data', key]) ? origin.trusted : origin.stored;
      return presentEntry(key, item, own, target);
    });
    return `{${entries.join(',')}}`;
  }
  return presentOne(value, from, target);
}

/**
 * Writes a single value as text: an object, or a list inside a list, as JSON; undefined and null as
 * ''.
 */
export function presentOne(value: unknown, from: Origin, target: Target): string {
  if (value === null || value === undefined) return '';
  const escape = from === origin.stored ? target.escape : asIs;
  if (typeof value === 'object') return JSON.stringify(mapStrings(value, escape));
  return escape(typeof value === 'string' ? value : JSON.stringify(value));
}

function presentEntry(key: string, value: unknown, from: Origin, target: Target): string {
  const escape = from === origin.stored ? target.escape : asIs;
  return JSON.stringify(mapStrings({ [key]: value }, escape)).slice(1, -1);
}

/**
 * Applies `change` to every string in a JSON value, including keys. A value nested more deeply than
 * the call stack allows throws RangeError, as JSON.stringify does.
 */
export function mapStrings(value: unknown, change: (text: string) => string): unknown {
  return replaceStrings(value, change, change);
}

/** Like `mapStrings`, but a string may become any value, and keys have their own function. */
export function replaceStrings(
  value: unknown,
  change: (text: string) => unknown,
  changeKey: (key: string) => string,
): unknown {
  if (typeof value === 'string') return change(value);
  if (Array.isArray(value)) return value.map((item) => replaceStrings(item, change, changeKey));
  if (typeof value !== 'object' || value === null) return value;
  // Object.fromEntries defines own properties, so `__proto__` stays an ordinary key.
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [
      changeKey(key),
      replaceStrings(item, change, changeKey),
    ]),
  );
}
