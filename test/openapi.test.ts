import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { endpoints } from '../api/endpoints.ts';
import { openApiDocument } from '../api/http/openapi.ts';

/** A body as the document describes it. */
interface Media {
  schema: z.core.JSONSchema.JSONSchema;
  example?: unknown;
}
interface Operation {
  operationId: string;
  summary?: string;
  requestBody?: { content: Record<string, Media> };
  responses: Record<string, { description: string; content?: Record<string, Media> }>;
}

const settings = { apiUrl: 'http://localhost:8080', version: '0.0.0' };
// As it is sent: JSON knows no undefined.
const document = JSON.parse(JSON.stringify(openApiDocument(endpoints, settings))) as {
  paths: Record<string, Record<string, Operation>>;
};
const operations = Object.values(document.paths)
  .flatMap((methods) => Object.values(methods))
  .map((operation) => [operation.operationId, operation] as const);

/** The JSON of a request and of the answer to it, where there is one. */
function bodiesOf({ requestBody, responses }: Operation): Media[] {
  const success = Object.entries(responses).filter(([status]) => /^[23]/.test(status));
  const bodies = [requestBody, ...success.map(([, response]) => response)];
  return bodies.flatMap((body) => body?.content?.['application/json'] ?? []);
}

describe('the document of the API', () => {
  it('describes every endpoint', () => {
    expect(operations.map(([id]) => id).toSorted()).toEqual(
      endpoints.map(({ id }) => id).toSorted(),
    );
  });

  it.each(operations)('says what %s is for and what it answers', (_, { summary, responses }) => {
    expect(summary).toMatch(/\S/);
    const success = Object.keys(responses).filter((status) => /^[23]/.test(status));
    expect(success.length).toBeGreaterThanOrEqual(1);
  });

  it.each(operations)(
    'shows every body of %s by an example that fits its schema',
    (_, operation) => {
      for (const { schema, example } of bodiesOf(operation)) {
        expect(example).toBeDefined();
        expect(z.fromJSONSchema(schema).safeParse(example).error?.issues).toBeUndefined();
      }
    },
  );

  it('names every form that a page and a file come in', () => {
    const forms = Object.fromEntries(
      operations.map(([id, { responses }]) => [
        id,
        Object.entries(responses).map(([status, { content = {} }]) =>
          `${status} ${Object.keys(content).join(' ')}`.trim(),
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
