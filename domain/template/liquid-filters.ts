import {
  AssertionError,
  filters as standardFilters,
  toValue,
  type FilterImplOptions,
  type Liquid,
} from 'liquidjs';
import { escapeHtml, escapeHtmlOnce } from './html.ts';
import { type TracingContext, least, mapStrings, origin, traced } from './liquid-context.ts';

type FilterHandler = Extract<FilterImplOptions, (...args: never[]) => unknown>;

/**
 * Filters that neither decode text nor split markup, so escaped text stays escaped. After any other
 * filter, escaped text counts as stored again.
 */
const keepsEscaped = new Set(
  `append prepend strip lstrip rstrip strip_newlines squish normalize_whitespace upcase downcase
   capitalize newline_to_br escape_once raw default fallback`.split(/\s+/),
);

/** Filters that Liquid does not have, or that differ from Liquid's. `fallback` implements `??`. */
const ownFilters: Record<string, FilterHandler> = {
  raw(value: unknown) {
    traced(this.context).from = origin.trusted;
    return value;
  },
  escape(value: unknown) {
    return escapeWith(escapeHtml, value, traced(this.context));
  },
  xml_escape(value: unknown) {
    return escapeWith(escapeHtml, value, traced(this.context));
  },
  escape_once(value: unknown) {
    return escapeWith(escapeHtmlOnce, value, traced(this.context));
  },
  newline_to_br(value: unknown) {
    const context = traced(this.context);
    const escape = context.from === origin.stored ? context.target.escape : String;
    return escapeWith((text) => escape(text).replace(/\r?\n/g, '<br />\n'), value, context);
  },
  fallback(value: unknown, text: string) {
    const given: unknown = toValue(value);
    if (given !== null && given !== undefined && given !== '') return given;
    traced(this.context).from = origin.trusted;
    return text;
  },
};

function escapeWith(escape: (text: string) => string, value: unknown, context: TracingContext) {
  if (context.from === origin.stored) context.from = origin.escaped;
  return mapStrings(toValue(value), (text) => {
    const escaped = escape(text);
    // Each text is counted before the next, because a list may contain one long text a thousand
    // times.
    context.memoryLimit.use(escaped.length);
    return escaped;
  });
}

/**
 * Wraps a filter. A filter that cannot use its input returns the input; only a limit ends the
 * rendering. The wrapper checks the time and counts the result, because Liquid checks the time only
 * between tags and does not count the output of all filters.
 */
function traceFilter(name: string, handler: FilterHandler): FilterHandler {
  return function* (value: unknown, ...args: unknown[]): Generator<unknown, unknown, unknown> {
    const context = traced(this.context);
    context.renderLimit.check(performance.now());
    if (context.from === origin.escaped && !keepsEscaped.has(name)) context.from = origin.stored;
    const before = context.from;
    try {
      const result = yield handler.call(this, value, ...args);
      // Filters such as where_exp evaluate an expression for each item. The origin of the last
      // result, perhaps a number or trusted text, is not the origin of the items.
      if (!Object.hasOwn(ownFilters, name)) {
        context.from = least(before, context.from);
        if (result !== value) context.memoryLimit.use(lengthOf(result));
      }
      if (typeof result === 'number' || typeof result === 'boolean') context.from = origin.trusted;
      return result;
    } catch (error) {
      if (isLimit(error)) throw error;
      context.from = before;
      return value;
    }
  };
}

/** Gives a filter of dates the time of a simulation in place of `now` and `today`. */
function withClock(handler: FilterHandler): FilterHandler {
  return function (value: unknown, ...args: unknown[]): unknown {
    const { now } = traced(this.context).scope;
    const given: unknown = toValue(value);
    const isClock = now !== undefined && (given === 'now' || given === 'today');
    return handler.call(this, isClock ? now.getTime() / 1000 : value, ...args);
  };
}

/** Returns the number of characters of a text, or of items of a list; 0 for any other value. */
function lengthOf(value: unknown): number {
  return typeof value === 'string' || Array.isArray(value) ? value.length : 0;
}

function isLimit(error: unknown): boolean {
  return error instanceof AssertionError && error.message.endsWith('limit exceeded');
}

/** Registers all filters with an engine, wrapped by `traceFilter`. */
export function registerFilters(engine: Liquid): void {
  for (const [name, filter] of Object.entries({ ...standardFilters, ...ownFilters })) {
    const handler = typeof filter === 'function' ? filter : filter.handler;
    const timed = name.startsWith('date') ? withClock(handler) : handler;
    engine.registerFilter(name, traceFilter(name, timed));
  }
}
