import { Context, toValue, type Emitter, type Liquid, type Value } from 'liquidjs';
import { origin, present, type Origin, type Target, type TemplateScope } from './value.ts';

/** Cost of binding one item of a loop or filter; the time is only checked between tags. */
const itemChars = 8;

/**
 * Keeps stored text escaped whatever a template does with it. Every variable that is read has an
 * origin, an expression has the least trusted origin of what it has read, and what `assign`,
 * `capture` and loops bind keeps it. Anything unknown counts as stored.
 */
export class TracingContext extends Context {
  readonly scope: TemplateScope;
  readonly target: Target;
  /** The least trusted text the current expression has read. */
  from: Origin = origin.trusted;
  /** The least trusted text written since this was last reset. */
  written: Origin = origin.trusted;
  /** Origin of the list whose loop is about to begin. */
  loopFrom: Origin = origin.stored;
  readonly #locals = new Map<string, Origin>();
  readonly #frames: { scope: object; from: Origin }[] = [];

  constructor(engine: Liquid, scope: TemplateScope, target: Target) {
    super(scope.values, engine.options, { sync: true }, { liquid: engine });
    this.scope = scope;
    this.target = target;
  }

  override *_get(path: Parameters<Context['_get']>[0]): IterableIterator<unknown> {
    const value: unknown = yield super._get(path);
    if (carriesText(value)) this.from = least(this.from, this.#originOf(path));
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
    this.written = least(this.written, this.from);
    return present(value, this.from, this.target, this.scope);
  }

  #originOf(path: readonly unknown[]): Origin {
    const name = String(path[0]);
    const frame = this.#frames.findLast(({ scope }) => name in scope);
    if (frame) return frame.from;
    if (name in this.bottom()) return this.#locals.get(name) ?? origin.stored;
    return this.scope.trusts(path) ? origin.trusted : origin.stored;
  }
}

/** Numbers, booleans and null cannot contain markup. */
function carriesText(value: unknown): boolean {
  return (typeof value === 'string' && value !== '') || (typeof value === 'object' && !!value);
}

/** The less trusted of two origins. */
export function least(a: Origin, b: Origin): Origin {
  return a > b ? a : b;
}

/** The context of a rendering, as tags and filters receive it. */
export function traced(context: Context): TracingContext {
  if (context instanceof TracingContext) return context;
  throw new TypeError('A template is rendered in a tracing context.');
}

/** Evaluates an expression; `context.from` then holds its origin. */
export function* evaluate(
  value: Value,
  context: TracingContext,
): Generator<unknown, unknown, unknown> {
  context.from = origin.trusted;
  let result = yield value.initial.evaluate(context, false);
  for (const filter of value.filters) {
    const before: Origin = context.from;
    const next: unknown = yield filter.render(result, context);
    // An unused default does not change the origin.
    if (filter.name === 'default' && next === result) context.from = before;
    result = next;
  }
  return toValue(result);
}

/** Collects output and counts it against the rendering's limit. */
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
