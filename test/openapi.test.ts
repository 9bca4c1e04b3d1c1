import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { endpoints } from '../api/endpoints.ts';
import { openApiDocument } from '../api/docs/openapi.ts';
import { buildWebhook, type WebhookVariables } from '../domain/webhook/webhook.ts';

/** A body as the document describes it. */
interface Media {
  schema: z.core.JSONSchema.JSONSchema;
  example?: unknown;
  /** Examples of each kind, by name. */
  examples?: Record<string, { value: unknown }>;
}
interface Answer {
  description: string;
  headers?: Record<string, unknown>;
  content?: Record<string, Media>;
}
interface Operation {
  operationId: string;
  summary?: string;
  description?: string;
  parameters: { $ref?: string; name?: string; description?: string }[];
  requestBody?: { content: Record<string, Media> };
  responses: Record<string, Answer | { $ref: string; description?: string }>;
}

const settings = { apiUrl: 'http://localhost:8080', version: '0.0.0' };
// Without keys that are undefined, as JSON is sent.
const document = JSON.parse(JSON.stringify(openApiDocument(endpoints, settings))) as {
  paths: Record<string, Record<string, Operation>>;
  webhooks: { webhookStep: { post: { requestBody: { content: Record<string, Media> } } } };
  components: {
    schemas: Record<string, z.core.JSONSchema.JSONSchema>;
    responses: Record<string, Answer>;
  };
};
const { schemas } = document.components;
const operations = Object.values(document.paths)
  .flatMap((methods) => Object.values(methods))
  .map((operation) => [operation.operationId, operation] as const);

/** Returns a response, also one that operations share. */
function resolve(answer: Operation['responses'][string]): Answer {
  if (!('$ref' in answer)) return answer;
  const shared = document.components.responses[answer.$ref.split('/').at(-1) ?? ''];
  if (!shared) throw new Error(`There is no ${answer.$ref}.`);
  return shared;
}

/** Returns a schema with all components that it refers to. */
function whole(schema: z.core.JSONSchema.JSONSchema): z.core.JSONSchema.JSONSchema {
  const text = JSON.stringify({ ...schema, $defs: schemas });
  return JSON.parse(text.replaceAll('#/components/schemas/', '#/$defs/')) as typeof schema;
}

/** Returns the schemas of a request and of its response, where they are JSON. */
function bodiesOf({ requestBody, responses }: Operation): Media[] {
  const success = Object.entries(responses).filter(([status]) => /^[23]/.test(status));
  const bodies = [requestBody, ...success.map(([, response]) => resolve(response))];
  return bodies.flatMap((body) => body?.content?.['application/json'] ?? []);
}

/** Returns JSON without inherited properties: `valueOf` is an optional field of conditions. */
const bare = (value: unknown): unknown =>
  JSON.parse(JSON.stringify(value), (_, item: unknown) =>
    typeof item === 'object' && item !== null && !Array.isArray(item)
      ? Object.assign(Object.create(null) as object, item)
      : item,
  );

describe('the document of the API', () => {
  it('describes every endpoint', () => {
    expect(operations.map(([id]) => id).toSorted()).toEqual(
      endpoints.map(({ id }) => id).toSorted(),
    );
  });

  it.each(operations)('says what %s is for and what it answers', (_, operation) => {
    const { summary, description, responses } = operation;
    expect(summary).toMatch(/\S/);
    expect(description).toMatch(/^\S.*\.$/);
    const success = Object.keys(responses).filter((status) => /^[23]/.test(status));
    expect(success.length).toBeGreaterThanOrEqual(1);
  });

  it.each(operations)(
    'shows every body of %s by an example that fits its schema',
    (_, operation) => {
      for (const { schema, example, examples = { usual: { value: example } } } of bodiesOf(
        operation,
      )) {
        for (const { value } of Object.values(examples)) {
          expect(value).toBeDefined();
          expect(
            z.fromJSONSchema(whole(schema)).safeParse(bare(value)).error?.issues,
          ).toBeUndefined();
        }
      }
    },
  );

  it.each(operations)('says what each parameter of %s means', (_, { parameters }) => {
    const silent = parameters.filter(({ $ref, description }) => !$ref && !description);
    expect(silent).toEqual([]);
  });

  it('shows what a WEBHOOK step sends', () => {
    const { schema, example } =
      document.webhooks.webhookStep.post.requestBody.content['application/json']!;
    const form = z.fromJSONSchema(schema);
    expect(form.safeParse(example).error?.issues).toBeUndefined();
    const { contact, workflow, execution, event } = example as WebhookVariables & {
      event: WebhookVariables['context'];
    };
    const variables = { contact, workflow, execution, context: event } as WebhookVariables;
    const sent = buildWebhook({ url: 'https://shop.example' }, variables, (text) => ({ text }));
    expect('body' in sent && JSON.parse(sent.body ?? '')).toEqual(example);
  });

  it('names every form that a page and a file come in', () => {
    const forms = Object.fromEntries(
      operations.map(([id, { responses }]) => [
        id,
        Object.entries(responses).map(([status, response]) =>
          `${status} ${Object.keys(resolve(response).content ?? {}).join(' ')}`.trim(),
        ),
      ]),
    );
    expect(forms['showUnsubscribePage']).toEqual(
      expect.arrayContaining(['200 text/html', '404 text/html', '429 application/json']),
    );
    expect(forms['unsubscribeByLink']).toContain('200 text/html text/plain');
    expect(forms['subscribeByLink']).toContain('404 text/html');
    expect(forms['listMailbox']).toContain('200 application/json text/html');
    expect(forms['getFile']).toContain('200 image/png image/jpeg image/gif image/webp');
    expect(forms['countOpen']).toContain('200 image/gif');
    expect(forms['getRoot']).toEqual(expect.arrayContaining(['200 application/json', '302']));
    expect(forms['getReadiness']).toContain('503 application/json');
    expect(forms['upsertContact']).toContain('201 application/json');
  });

  it('names the records and their lists', () => {
    const records =
      'Campaign Contact Template Segment Workflow Step Transition Execution Email Event';
    const lists = 'CampaignPage ContactList ContactPage EmailSummaryList TemplatePage';
    const others =
      'Domain Project Member User ActivityItem Invoice StepExecution Condition ImportJob BulkJob';
    expect(Object.keys(schemas)).toEqual(
      expect.arrayContaining(`${records} ${lists} ${others}`.split(' ')),
    );
    const answers = Object.fromEntries(
      operations.map(([id, operation]) => [id, bodiesOf(operation).at(-1)?.schema]),
    );
    expect(answers['getContact']?.$ref ?? '').toMatch(/^#\/components\/schemas\/Contact/);
    expect(answers['listContacts']?.$ref).toBe('#/components/schemas/ContactList');
    expect(answers['createCampaign']?.properties?.['data']).toEqual({
      $ref: '#/components/schemas/Campaign',
    });
  });

  it('names the headers that requests are read by and answers carry', () => {
    const about = (id: string) => {
      const operation = operations.find(([name]) => name === id)?.[1];
      const success = Object.entries(operation?.responses ?? {}).find(([at]) => /^[23]/.test(at));
      return {
        asked: operation?.parameters.map(({ $ref, name }) => name ?? $ref?.split('/').at(-1)),
        answered: success && Object.keys(resolve(success[1]).headers ?? {}),
      };
    };
    const limits = ['RateLimit-Limit', 'RateLimit-Remaining', 'RateLimit-Reset'];
    const strictness = ['Everpost-Ignored', 'Preference-Applied'];
    const keys = ['Everpost-Key-Expires'];
    expect(about('send')).toEqual({
      asked: ['ProjectId', 'IdempotencyKey', 'Prefer'],
      answered: ['X-Request-ID', ...limits, 'Idempotency-Replayed', ...strictness, ...keys],
    });
    expect(about('verify')).toEqual({
      asked: ['ProjectId', 'Prefer'],
      answered: ['X-Request-ID', ...limits, ...strictness, ...keys],
    });
    expect(about('createProject').asked).toEqual(['IdempotencyKey', 'Prefer']);
    expect(about('getMe').asked).toEqual(['Prefer']);
    expect(about('startGitHubLogin').answered).toContain('Location');
    expect(document.components.responses['TooManyRequests']?.headers).toHaveProperty('Retry-After');
  });

  it('refers to nothing that is not there', () => {
    const named = [...JSON.stringify(document).matchAll(/"\$ref":"([^"]+)"/g)];
    for (const [, pointer = ''] of named) {
      const steps = pointer.split('/').slice(1);
      const target = steps.reduce<unknown>(
        (part, step) => (part as Record<string, unknown> | undefined)?.[step],
        document,
      );
      expect(target, pointer).toBeDefined();
    }
  });
});
