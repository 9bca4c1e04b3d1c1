import { storableText } from '../text-rules.ts';
import type { Rendered, TemplateVariables } from '../template/render.ts';
import { mapStrings, replaceStrings } from '../template/liquid-context.ts';

/** Default number of attempts of a webhook. */
export const webhookAttemptsDefault = 5;

/** The variables of a webhook's templates, which are also the content of its default body. */
export interface WebhookVariables extends TemplateVariables {
  workflow: { id: string; name: string };
  execution: {
    id: string;
    /** ISO 8601. */
    startedAt: string;
    /** The key of the execution. Absent: the execution has none. */
    key?: string;
  };
}

export interface WebhookSettings {
  url: string;
  /** Absent: POST. */
  method?: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE' | undefined;
  headers?: Record<string, string> | undefined;
  body?: unknown;
  /**
   * Effect of a response other than 2xx on the execution. Absent: the execution continues.
   */
  onFailure?: 'continue' | 'fail' | undefined;
}

/** The request of a webhook as its step defines it. Sending adds Everpost's own headers. */
export interface WebhookCall {
  url: string;
  method: NonNullable<WebhookSettings['method']>;
  headers: Record<string, string>;
  /** null: no body. */
  body: string | null;
}

/** The text of a rendered template, and its value if the value is not just text. */
type RenderedText = Pick<Rendered, 'text' | 'value'>;

export type WebhookOutcome =
  | {
      kind: 'answered';
      statusCode: number;
      contentType: string | null;
      retryAfter: string | null;
      /** The first 64 KB of the body. */
      text: string;
      /** True if the body is longer than `text`. */
      isCut: boolean;
    }
  /** The receiver must not or cannot be called, so a retry cannot help. */
  | { kind: 'refused'; error: string }
  /** The network failed: an unknown host, no connection, or an incomplete response. */
  | { kind: 'unreachable'; error: string }
  | { kind: 'timeout' };

/**
 * Maximum nesting depth of a response that is stored as JSON. PostgreSQL and our code process JSON
 * recursively.
 */
const responseDepthMax = 100;
const firstDelayMs = 2_000;
const delayMsMax = 60_000;
const retryAfterMsMax = 5 * 60_000;

const jsonDefault = 'application/json';
const jsonType = /^application\/(?:[\w.-]+\+)?json\b/i;
const control = /[^\P{Cc}\t]/u;

/** Returns the templates of a webhook's request, each once. */
export function webhookSources(config: WebhookSettings, variables: WebhookVariables): string[] {
  const sources = new Set<string>();
  buildWebhook(config, variables, (source) => {
    sources.add(source);
    return { text: '' };
  });
  return [...sources];
}

/**
 * Builds the request of a WEBHOOK step. Variables are rendered in the URL, in header values and in
 * every string of the body. A string that is a single expression keeps its type: `"{{ tags }}"`
 * becomes a list.
 *
 * GET has no body, and DELETE only a configured one. For the other methods, the default body has
 * the contact, the workflow, the execution and its context (`event`). A body is sent as JSON,
 * unless it is a string and the step sets another content type.
 *
 * `fault`: an error in the step, so another attempt would fail in the same way.
 * @param render renders a template with the variables
 */
export function buildWebhook(
  config: WebhookSettings,
  variables: WebhookVariables,
  render: (source: string) => RenderedText,
): WebhookCall | { fault: string } {
  const headers: Record<string, string> = {};
  let contentType: string | undefined;
  for (const [name, source] of Object.entries(config.headers ?? {})) {
    const value = render(source).text;
    if (control.test(value)) {
      return { fault: `The header ${name} has a line break or another control character.` };
    }
    headers[name] = value;
    if (name.toLowerCase() === 'content-type') contentType = value;
  }

  const method = config.method ?? 'POST';
  const url = urlOf(render(config.url).text);
  try {
    const isText = typeof config.body === 'string' && !jsonType.test(contentType ?? jsonDefault);
    const content = contentOf(method, config.body, variables, isText ? textOnly(render) : render);
    if (content === undefined) return { url, method, headers, body: null };
    const body = isText && typeof content === 'string' ? content : JSON.stringify(content);
    if (contentType === undefined) headers['Content-Type'] = jsonDefault;
    return { url, method, headers, body };
  } catch (error) {
    if (error instanceof RangeError)
      return {
        fault:
          'The body is nested too deeply to be written as JSON. Simplify the `body` of the step or its data, then retry the execution.',
      };
    throw error;
  }
}

function contentOf(
  method: WebhookCall['method'],
  given: unknown,
  { contact, workflow, execution, context }: WebhookVariables,
  render: (source: string) => RenderedText,
): unknown {
  if (method === 'GET') return undefined;
  if (given !== undefined) return renderStrings(given, render);
  if (method === 'DELETE') return undefined;
  return {
    contact: {
      id: contact.id,
      email: contact.email,
      subscribed: contact.subscribed,
      data: contact.data,
    },
    workflow: { id: workflow.id, name: workflow.name },
    execution,
    event: context ?? null,
  };
}

function textOnly(render: (source: string) => RenderedText): (source: string) => RenderedText {
  return (source) => ({ text: render(source).text });
}

/** Renders each string in a JSON value. Keys are always rendered as text. */
function renderStrings(given: unknown, render: (source: string) => RenderedText): unknown {
  const valueOf = (source: string): unknown => {
    const { text, value } = render(source);
    return value === undefined ? text : value;
  };
  return replaceStrings(given, valueOf, (key) => render(key).text);
}

/**
 * Percent-encodes white space and control characters, because URL parsers silently drop some of
 * them. Nothing else is encoded, so a variable may be a whole path or a host; for one part of a
 * path or query, use the filter `url_encode`.
 *
 * The host of a URL ends at the first `/`, `?` or `#`. If the template itself contains one of them
 * (`https://host/…`), no value can change the host.
 */
function urlOf(rendered: string): string {
  return storableText(rendered.trim()).replace(/[\p{Cc}\p{Z}]/gu, encodeURIComponent);
}

/**
 * Returns the pause after the `attempt`-th failed attempt (from 1), in milliseconds; null: no
 * attempt is left. 408, 429, 5xx, network errors and timeouts are retried after 2 s, doubling up to
 * a minute. `Retry-After` (RFC 9110 §10.2.3) can lengthen the pause to at most 5 minutes, and never
 * shortens it.
 */
export function retryAfterAttempt(
  attempt: number,
  outcome: WebhookOutcome,
  { attemptsMax, now }: { attemptsMax: number; now: Date },
): number | null {
  if (attempt >= attemptsMax || !isWorthRetrying(outcome)) return null;
  const delayMs = Math.min(firstDelayMs * 2 ** (attempt - 1), delayMsMax);
  const askedMs = outcome.kind === 'answered' ? readRetryAfter(outcome.retryAfter, now) : 0;
  return Math.max(delayMs, Math.min(askedMs, retryAfterMsMax));
}

function isWorthRetrying(outcome: WebhookOutcome): boolean {
  if (outcome.kind !== 'answered') return outcome.kind !== 'refused';
  const { statusCode } = outcome;
  return statusCode === 408 || statusCode === 429 || (statusCode >= 500 && statusCode <= 599);
}

/**
 * Returns the milliseconds from now that a `Retry-After` header means, from seconds or an HTTP
 * date; negative for a past date. Any other value gives 0.
 */
export function readRetryAfter(value: string | null, now: Date): number {
  if (value === null) return 0;
  if (/^\d+$/.test(value)) return Number(value) * 1000;
  const at = value.endsWith('GMT') ? Date.parse(value) : Number.NaN;
  return Number.isNaN(at) ? 0 : at - now.getTime();
}

/**
 * The output that a WEBHOOK step stores after its last attempt. `success`: the response was 2xx.
 * `error` is present only without success.
 */
export type WebhookOutput = Pick<WebhookCall, 'url' | 'method'> & {
  statusCode: number | null;
  success: boolean;
  response: unknown;
  attempts: number;
  error?: string;
};

export function webhookOutput(
  { url, method }: WebhookCall,
  outcome: WebhookOutcome,
  attempts: number,
): WebhookOutput {
  const answer = outcome.kind === 'answered' ? outcome : null;
  const success = answer !== null && answer.statusCode >= 200 && answer.statusCode <= 299;
  return {
    url,
    method,
    statusCode: answer?.statusCode ?? null,
    success,
    response: answer ? readResponseBody(answer.text, answer.contentType) : null,
    attempts,
    ...(success ? {} : { error: webhookError(outcome) }),
  };
}

export function webhookError(outcome: WebhookOutcome): string {
  if (outcome.kind === 'answered') return `The receiver answered ${outcome.statusCode}.`;
  return outcome.kind === 'timeout' ? 'The receiver did not answer in time.' : outcome.error;
}

/**
 * Returns a response body in its stored form: JSON as a value, an empty body as null, anything else
 * as text. A body without a content type is tried as JSON. Characters that a JSON column cannot
 * hold (NUL, lone surrogates) are replaced. JSON with more than 100 levels is stored as text.
 */
export function readResponseBody(text: string, contentType: string | null): unknown {
  if (text === '') return null;
  if (contentType === null || jsonType.test(contentType)) {
    try {
      const value: unknown = JSON.parse(text);
      if (isShallow(value, responseDepthMax)) return mapStrings(value, storableText);
    } catch {
      // The text is not JSON, or was cut at the limit.
    }
  }
  return storableText(text);
}

function isShallow(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return true;
  return levels > 0 && Object.values(value).every((item) => isShallow(item, levels - 1));
}
