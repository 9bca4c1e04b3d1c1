import {
  AssignTag,
  CaptureTag,
  CycleTag,
  defaultOperators,
  EchoTag,
  evalToken,
  ForTag,
  Liquid,
  LiquidError,
  Output,
  ParseError,
  Parser,
  TablerowTag,
  toValue,
  toValueSync,
  TypeGuards,
  Value,
  Context,
  type Emitter,
  type Template,
  type TopLevelToken,
} from 'liquidjs';
import {
  LimitedEmitter,
  type RenderLimits,
  type Target,
  type TemplateScope,
  TracingContext,
  evaluate,
  least,
  origin,
  traced,
} from './liquid-context.ts';
import { registerFilters } from './liquid-filters.ts';

/** Time limit in milliseconds of renderings that share one limit. */
const renderMs = 1000;

/**
 * Maximum number of characters that renderings which share one limit may build: intermediate
 * values, captured text and output together.
 */
export const renderChars = 10 * 1024 * 1024;

/**
 * A text search may compare many characters. This number of comparisons counts as one character of
 * `renderChars`.
 */
const comparisonsPerChar = 1_000;

class TracedOutput extends Output {
  override *render(ctx: Context, emitter: Emitter): Generator<unknown, void, unknown> {
    const context = traced(ctx);
    const value = yield evaluate(this.value, context);
    emitter.write(context.show(value));
  }
}

class TracedEcho extends EchoTag {
  override *render(ctx: Context, emitter: Emitter): Generator<unknown, void, unknown> {
    const context = traced(ctx);
    for (const value of this.arguments()) {
      if (!(value instanceof Value)) continue;
      const result = yield evaluate(value, context);
      emitter.write(context.show(result));
    }
  }
}

class TracedCycle extends CycleTag {
  override *render(ctx: Context, emitter: Emitter): Generator<unknown, void, unknown> {
    const context = traced(ctx);
    context.from = origin.trusted;
    const value = yield super.render(ctx, emitter);
    emitter.write(context.show(value));
  }
}

class TracedAssign extends AssignTag {
  override *render(ctx: Context): Generator<unknown, void, unknown> {
    const context = traced(ctx);
    const [name] = this.localScope();
    const [value] = this.arguments();
    if (!name || !(value instanceof Value)) return;
    const result = yield evaluate(value, context);
    context.bind(name.content, result, context.from);
  }
}

class TracedCapture extends CaptureTag {
  override *render(ctx: Context): Generator<unknown, void, string> {
    const context = traced(ctx);
    const before = context.written;
    context.written = origin.trusted;
    const emitter = new LimitedEmitter(context);
    yield this.liquid.renderer.renderTemplates(this.templates, ctx, emitter);
    const from = context.written === origin.trusted ? origin.trusted : origin.escaped;
    context.bind(this.variable, emitter.buffer, from);
    context.written = least(before, context.written);
  }
}

class TracedFor extends ForTag {
  override *render(ctx: Context, emitter: Emitter): Generator<unknown, void, unknown> {
    yield readLoopOrigin(this.collection, traced(ctx));
    yield super.render(ctx, emitter);
  }
}

class TracedTablerow extends TablerowTag {
  override *render(ctx: Context, emitter: Emitter): Generator<unknown, void, unknown> {
    yield readLoopOrigin(this.collection, traced(ctx));
    yield super.render(ctx, emitter);
  }
}

function* readLoopOrigin(collection: ForTag['collection'], context: TracingContext) {
  context.from = origin.trusted;
  // A range contains only numbers, which need no origin, and building the range twice could be
  // costly.
  if (!TypeGuards.isRangeToken(collection)) yield evalToken(collection, context);
  context.loopFrom = context.from;
}

const operators = {
  ...defaultOperators,
  /** Counts the cost of a search, which takes up to the product of both lengths. */
  *contains(left: unknown, right: unknown, context: Context): Generator<unknown, boolean, unknown> {
    context.renderLimit.check(performance.now());
    const [text, wanted] = [toValue(left), toValue(right)];
    const isSearch = typeof text === 'string' && typeof wanted === 'string';
    if (isSearch) {
      context.memoryLimit.use((text.length * wanted.length) / comparisonsPerChar);
    } else if (Array.isArray(text)) context.memoryLimit.use(text.length);
    return Boolean(yield defaultOperators['contains']?.(left, right, context));
  },
};

function createEngine(strictFilters: boolean): Liquid {
  const engine = new Liquid({
    strictFilters,
    operators,
    jsTruthy: true,
    ownPropertyOnly: true,
    // With a fixed zone and locale, dates look the same on every server.
    timezoneOffset: 0,
    locale: 'en-US',
    // Without templates, `include` and `render` cannot read files.
    templates: {},
  });
  for (const name of ['include', 'render', 'layout', 'block']) delete engine.tags[name];
  engine.registerTag('echo', TracedEcho);
  engine.registerTag('cycle', TracedCycle);
  engine.registerTag('assign', TracedAssign);
  engine.registerTag('capture', TracedCapture);
  engine.registerTag('for', TracedFor);
  engine.registerTag('tablerow', TracedTablerow);
  registerFilters(engine);
  return engine;
}

/** The engine for sending: an unknown filter leaves the value unchanged. */
const lenient = createEngine(false);
/** The engine for saving: an unknown filter is an error. */
const strict = createEngine(true);

/**
 * Holds the tokens in reverse order. The parser takes tokens with `shift`, which moves the rest of
 * a plain array each time: a template of 2 MB would take a minute.
 */
class TokenQueue extends Array<TopLevelToken> {
  constructor(tokens: TopLevelToken[]) {
    super();
    for (const token of tokens.toReversed()) this.push(token);
  }

  override shift(): TopLevelToken | undefined {
    return this.pop();
  }
}

class TracingParser extends Parser {
  readonly #engine: Liquid;

  constructor(engine: Liquid) {
    super(engine);
    this.#engine = engine;
  }

  override parseTokens(tokens: TopLevelToken[]): Template[] {
    return super.parseTokens(new TokenQueue(tokens));
  }

  override parseToken(token: TopLevelToken, rest: TopLevelToken[]) {
    if (!TypeGuards.isOutputToken(token)) return super.parseToken(token, rest);
    try {
      return new TracedOutput(token, this.#engine);
    } catch (error) {
      if (LiquidError.is(error) || !(error instanceof Error)) throw error;
      throw new ParseError(error, token);
    }
  }
}

/**
 * Parses standard Liquid. Throws on a syntax error or an unknown tag, and with `strictFilters` on
 * an unknown filter.
 */
export function parseLiquid(source: string, strictFilters: boolean): Template[] {
  return new TracingParser(strictFilters ? strict : lenient).parse(source);
}

export function isFilter(name: string): boolean {
  return Object.hasOwn(lenient.filters, name);
}

export function filterNames(): string[] {
  return Object.keys(lenient.filters).filter((name) => name !== 'fallback');
}

/** Returns limits that begin now. The defaults are the limits of one rendering. */
export function startLimits({ chars = renderChars, ms = renderMs } = {}): RenderLimits {
  const context = new Context({}, lenient.options, { memoryLimit: chars, renderLimit: ms });
  return { memoryLimit: context.memoryLimit, renderLimit: context.renderLimit };
}

/**
 * Renders the result of `parseLiquid`. Throws when a limit is exceeded.
 * @returns the text, and the value of the last expression
 */
export function renderLiquid(
  templates: Template[],
  scope: TemplateScope,
  target: Target,
  limits: RenderLimits,
): { text: string; shown: unknown } {
  const context = new TracingContext(lenient, scope, target, limits);
  const emitter = new LimitedEmitter(context);
  toValueSync(lenient.renderer.renderTemplates(templates, context, emitter));
  return { text: emitter.buffer, shown: context.shown };
}
