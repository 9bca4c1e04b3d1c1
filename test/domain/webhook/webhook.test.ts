import { describe, expect, it } from 'vitest';
import { compileTemplate, renderTemplate } from '../../../domain/template/render.ts';
import type { StepConfig } from '../../../domain/workflow/steps/registry.ts';
import {
  buildWebhook,
  readResponseBody,
  retryAfterAttempt,
  webhookOutput,
  type WebhookCall,
  type WebhookOutcome,
  webhookSources,
} from '../../../domain/webhook/webhook.ts';
import { id, variables } from '../template/rendering.ts';

const url = 'https://shop.example/hook';
const startedAt = '2026-11-20T10:00:00.000Z';

function build(
  config: Partial<StepConfig<'WEBHOOK'>>,
  ...layers: Parameters<typeof variables>
): WebhookCall {
  const built = buildAny(config, ...layers);
  if ('fault' in built) throw new Error(built.fault);
  return built;
}

function buildAny(config: Partial<StepConfig<'WEBHOOK'>>, ...layers: Parameters<typeof variables>) {
  const known = {
    ...variables(...layers),
    workflow: { id: 'w1', name: 'Welcome' },
    execution: { id: 'e1', startedAt },
  };
  const asked: string[] = [];
  const built = buildWebhook({ url, ...config }, known, (source) => {
    asked.push(source);
    return renderTemplate('text', compileTemplate(source), known);
  });
  expect(webhookSources({ url, ...config }, known)).toEqual(expect.arrayContaining(asked));
  return built;
}

const answered = (statusCode: number, retryAfter: string | null = null): WebhookOutcome => ({
  kind: 'answered',
  statusCode,
  contentType: null,
  retryAfter,
  text: '',
  isCut: false,
});

describe('the request of a WEBHOOK step', () => {
  it('without a body sends contact, workflow, execution and event by POST, as JSON', () => {
    const { body, ...rest } = build({}, { plan: '{{email}}' }, undefined, { orderId: 7 });
    expect(rest).toEqual({
      url,
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
    });
    expect(JSON.parse(body!)).toEqual({
      contact: { id, email: 'ada@x.example', subscribed: true, data: { plan: '{{email}}' } },
      workflow: { id: 'w1', name: 'Welcome' },
      execution: { id: 'e1', startedAt },
      event: { orderId: 7 },
    });
  });

  it('renders url, header values and all strings of the body, unescaped', () => {
    const call = build(
      {
        url: 'https://{{host}}/{{data.plan}}?order={{event.orderId}}&q={{ name | url_encode }}',
        headers: { 'X-Name': '{{name}}' },
        body: { to: ['{{name}}', 1, null, { deep: '{{email}}' }], '{{plan}}': true },
      },
      { plan: 'pro', name: 'A <& B', host: 'eu.shop.example' },
      undefined,
      { orderId: 7 },
    );
    expect(call.url).toBe('https://eu.shop.example/pro?order=7&q=A+%3C%26+B');
    expect(call.headers['X-Name']).toBe('A <& B');
    expect(JSON.parse(call.body!)).toEqual({
      to: ['A <& B', 1, null, { deep: 'ada@x.example' }],
      pro: true,
    });
  });

  it('keeps the type of one expression alone in a JSON body, and joins lists elsewhere', () => {
    const body = (given: unknown, headers = {}) =>
      build({ body: given, headers }, { n: 2, l: ['<', [1]], o: { a: true }, t: '5' }).body;
    expect(JSON.parse(body(['{{n}}', '{{ n | plus: 1 }}', '{{l}}', '{{o}}', '{{o.a}}'])!)).toEqual([
      2,
      3,
      ['<', [1]],
      { a: true },
      true,
    ]);
    expect(
      JSON.parse(body(['{{t}}', '{{n}} ', '{{nope}}', '{{ nope ?? 0 }}', 'l {{l}}'])!),
    ).toEqual(['5', '2 ', '', '0', 'l <, [1]']);
    expect(JSON.parse(body({ '{{l}}': '{{ n | divided_by: 0 }}' })!)).toEqual({ '<, [1]': 'null' });
    expect(body('{{l}}')).toBe('["<",[1]]');
    expect(body('{{l}}', { 'Content-Type': 'text/plain' })).toBe('<, [1]');
    const { url: address, headers } = build(
      { url: `${url}?l={{l}}`, headers: { 'X-L': '{{l}}', 'X-N': '{{n}}' } },
      { n: 2, l: ['a', 'b'] },
    );
    expect(address).toBe(`${url}?l=a,%20b`);
    expect(headers).toMatchObject({ 'X-L': 'a, b', 'X-N': '2' });
  });

  it('encodes white space, control characters and halves of characters in a url', () => {
    const call = build({ url: `${url}?a={{a}}\n` }, { a: 'x y\r\n\tz\u00a0\ud83d' });
    expect(call.url).toBe(`${url}?a=x%20y%0D%0A%09z%C2%A0\ufffd`);
  });

  it.each(['@evil.example/', '/../..//evil.example', '#@evil.example', '\\@evil.example'])(
    'keeps the host of its template from %j',
    (value) => {
      const call = build({ url: 'https://shop.example/{{x}}' }, { x: value });
      expect(new URL(call.url).host).toBe('shop.example');
    },
  );

  it.each([
    ['GET', undefined, null],
    ['GET', { a: 1 }, null],
    ['DELETE', undefined, null],
    ['DELETE', { a: 1 }, '{"a":1}'],
    ['PUT', 'text {{plan}}', '"text pro"'],
    ['PATCH', null, 'null'],
    ['POST', 0, '0'],
  ] as const)('%s with body %j sends %j', (method, body, sent) => {
    const call = build({ method, ...(body === undefined ? {} : { body }) }, { plan: 'pro' });
    expect(call.body).toBe(sent);
    expect(call.headers).toEqual(sent === null ? {} : { 'Content-Type': 'application/json' });
  });

  it.each(['content-type', 'Content-Type', 'CONTENT-TYPE'])('lets %s be set', (name) => {
    const call = build({ headers: { [name]: 'text/plain' } });
    expect(call.headers).toEqual({ [name]: 'text/plain' });
    expect(JSON.parse(call.body!)).toMatchObject({ workflow: { id: 'w1' } });
  });

  it('sends text as it is under a content type of text, as JSON under one of JSON', () => {
    const body = 'Hello {{name}}';
    const send = (type: string) =>
      build({ headers: { 'Content-Type': type }, body }, { name: '"Ada"' }).body;
    expect(send('text/plain; charset=utf-8')).toBe('Hello "Ada"');
    expect(send('application/json; charset=utf-8')).toBe('"Hello \\"Ada\\""');
    expect(send('application/vnd.shop+json')).toBe('"Hello \\"Ada\\""');
  });

  it.each(['a\nb', 'a\rb', 'a\r\nX-Admin: 1', 'a\u0001', '\u007f'])(
    'is a fault of the step with %j in a header',
    (value) => {
      expect(buildAny({ headers: { 'X-Name': '{{v}}' } }, { v: value })).toEqual({
        fault: 'The header X-Name has a line break or another control character.',
      });
    },
  );

  it('takes a tab and letters beyond Latin in a header', () => {
    expect(build({ headers: { 'X-N': '{{v}}' } }, { v: 'Жа\tна' }).headers['X-N']).toBe('Жа\tна');
  });

  it('is a fault of the step with a body too deep to be rendered', () => {
    let body: unknown = 'x';
    for (let level = 0; level < 100_000; level += 1) body = [body];
    expect(buildAny({ body })).toEqual({
      fault:
        'The body is nested too deeply to be written as JSON. Simplify the `body` of the step or its data, then retry the execution.',
    });
  });
});

describe('another attempt', () => {
  const now = new Date('2026-11-20T10:00:00.000Z');
  const delay = (attempt: number, outcome: WebhookOutcome, attemptsMax = 5) =>
    retryAfterAttempt(attempt, outcome, { attemptsMax, now });

  it('comes after 2 s doubling, 5 attempts in all', () => {
    const delays = [1, 2, 3, 4, 5, 6].map((attempt) => delay(attempt, answered(500)));
    expect(delays).toEqual([2_000, 4_000, 8_000, 16_000, null, null]);
  });

  it('is never more than a minute away', () => {
    expect([5, 6, 7, 2000].map((n) => delay(n, answered(500), 9999))).toEqual([
      32_000, 60_000, 60_000, 60_000,
    ]);
  });

  it.each([
    ...[408, 429, 500, 502, 503, 504, 599].map((code) => [answered(code), 2_000] as const),
    ...[200, 204, 301, 304, 400, 401, 404, 410, 422, 600].map(
      (code) => [answered(code), null] as const,
    ),
    [{ kind: 'timeout' } as const, 2_000] as const,
    [{ kind: 'unreachable', error: 'x' } as const, 2_000] as const,
    [{ kind: 'refused', error: 'x' } as const, null] as const,
  ])('after %j: %j', (outcome, expected) => {
    expect(delay(1, outcome)).toBe(expected);
  });

  it.each([
    ['0', 2_000],
    ['1', 2_000],
    ['30', 30_000],
    ['300', 300_000],
    ['301', 300_000],
    ['9'.repeat(400), 300_000],
    ['-5', 2_000],
    ['soon', 2_000],
    ['', 2_000],
    ['Fri, 20 Nov 2026 10:00:45 GMT', 45_000],
    ['Friday, 20-Nov-26 10:00:45 GMT', 45_000],
    ['Fri, 20 Nov 2026 12:00:00 GMT', 300_000],
    ['Fri, 20 Nov 2020 10:00:00 GMT', 2_000],
    ['2026-11-20T10:00:45', 2_000],
  ])('with Retry-After %j comes after %j ms', (retryAfter, expected) => {
    expect(delay(1, answered(429, retryAfter))).toBe(expected);
    expect(delay(1, answered(503, retryAfter))).toBe(expected);
  });

  it('with a Retry-After shorter than its turn comes in its turn', () => {
    expect(delay(4, answered(429, '3'))).toBe(16_000);
  });
});

describe('the body of an answer', () => {
  it.each([
    ['{"a":[1]}', 'application/json', { a: [1] }],
    ['{"a":1}', 'Application/Problem+JSON; charset=utf-8', { a: 1 }],
    ['{"a":1}', null, { a: 1 }],
    ['{"a":1}', 'text/plain', '{"a":1}'],
    ['{"a":', 'application/json', '{"a":'],
    ['ok', null, 'ok'],
    ['', 'application/json', null],
    ['a\0b\ud800', 'text/html', 'a\ufffdb\ufffd'],
    ['{"a\\u0000":"\\ud800"}', 'application/json', { 'a\ufffd': '\ufffd' }],
  ])('%j of type %j is kept as %j', (text, type, kept) => {
    expect(readResponseBody(text, type)).toEqual(kept);
  });

  it('is kept as text when it is nested too deeply to be stored', () => {
    const deep = (levels: number) => '['.repeat(levels) + ']'.repeat(levels);
    expect(readResponseBody(deep(30_000), 'application/json')).toBe(deep(30_000));
    expect(readResponseBody(deep(100), 'application/json')).toEqual(JSON.parse(deep(100)));
    expect(readResponseBody(deep(101), 'application/json')).toBe(deep(101));
  });
});

describe('the output of a WEBHOOK step', () => {
  const call: WebhookCall = {
    url,
    method: 'POST',
    headers: { authorization: 'x' },
    body: 'secret',
  };

  it('of a 2xx answer is a success without an error', () => {
    const outcome = { ...answered(201), contentType: 'application/json', text: '{"ok":true}' };
    expect(webhookOutput(call, outcome as WebhookOutcome, 3)).toEqual({
      url,
      method: 'POST',
      statusCode: 201,
      success: true,
      response: { ok: true },
      attempts: 3,
    });
  });

  it.each([
    [answered(404), 404, 'The receiver answered 404.'],
    [answered(302), 302, 'The receiver answered 302.'],
    [{ kind: 'timeout' } as const, null, 'The receiver did not answer in time.'],
    [{ kind: 'unreachable', error: 'ECONNREFUSED' } as const, null, 'ECONNREFUSED'],
    [{ kind: 'refused', error: 'No.' } as const, null, 'No.'],
  ])('of %j is no success and says why', (outcome, statusCode, error) => {
    expect(webhookOutput(call, outcome, 1)).toEqual({
      url,
      method: 'POST',
      statusCode,
      success: false,
      response: null,
      attempts: 1,
      error,
    });
  });
});
