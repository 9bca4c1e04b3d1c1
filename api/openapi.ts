import { z } from 'zod';
import { problems } from '../domain/errors.ts';
import { bodyBytesMax } from './body.ts';
import type { AnyEndpoint } from './endpoint.ts';
import { cookieName } from './session.ts';

type JsonSchema = Record<string, unknown>;

/** These are answered without a body. */
const bodyless = new Set([204, 302]);

/** The OpenAPI 3.1 document of the endpoints. It is nothing but their declarations, rewritten. */
export function openApiDocument(
  endpoints: readonly AnyEndpoint[],
  settings: { apiUrl: string; version: string },
): JsonSchema {
  const paths: Record<string, Record<string, unknown>> = {};
  for (const endpoint of endpoints) {
    const path = (paths[endpoint.path] ??= {});
    path[endpoint.method.toLowerCase()] = operation(endpoint);
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Everpost',
      version: settings.version,
      description: 'Email whose every promise is a durable workflow.',
      license: { name: 'MIT', identifier: 'MIT' },
    },
    servers: [{ url: settings.apiUrl }],
    paths,
    components: {
      securitySchemes: {
        apiKey: {
          type: 'http',
          scheme: 'bearer',
          description: 'sk_… for everything, pk_… for /v1/track alone',
        },
        session: {
          type: 'apiKey',
          in: 'cookie',
          name: cookieName('everpost_session', settings.apiUrl),
        },
      },
      schemas: { Error: errorSchema },
    },
  };
}

function operation(endpoint: AnyEndpoint): JsonSchema {
  const { status = 200 } = endpoint;
  const response = jsonSchema(endpoint.response, 'output');
  const shown = endpoint.wrapped ? wrappedSchema(response) : response;
  const example = endpoint.example?.response;
  return {
    operationId: endpoint.id,
    summary: endpoint.summary,
    tags: [endpoint.tag],
    security: security(endpoint),
    parameters: [...parameters(endpoint, 'path'), ...parameters(endpoint, 'query')],
    ...(endpoint.body
      ? {
          requestBody: {
            description: `At most ${shownSize(bodyBytesMax(endpoint))}.`,
            required: !endpoint.body.safeParse({}).success,
            content: {
              [endpoint.upload ? 'multipart/form-data' : 'application/json']: {
                schema: jsonSchema(endpoint.body, 'input'),
                ...(endpoint.example?.body === undefined ? {} : { example: endpoint.example.body }),
              },
            },
          },
        }
      : {}),
    responses: {
      [status]: {
        description: 'Success',
        ...(bodyless.has(status)
          ? {}
          : {
              content: {
                [endpoint.contentType ?? 'application/json']: {
                  schema: shown,
                  ...(example === undefined ? {} : { example }),
                },
              },
            }),
      },
      ...errorResponses(endpoint),
    },
  };
}

function shownSize(bytes: number): string {
  const kilobytes = Math.floor(bytes / 1024);
  return kilobytes < 1024 ? `${kilobytes} KB` : `${Math.floor(kilobytes / 1024)} MB`;
}

function security(endpoint: AnyEndpoint): JsonSchema[] {
  if (endpoint.access === 'open') return [];
  if (endpoint.access === 'session') return [{ session: [] }];
  return [{ apiKey: [] }, { session: [] }];
}

function parameters(endpoint: AnyEndpoint, place: 'path' | 'query'): JsonSchema[] {
  const schema = place === 'path' ? endpoint.params : endpoint.query;
  if (!schema) return [];
  const { properties = {}, required = [] } = jsonSchema(schema, 'input') as {
    properties?: Record<string, JsonSchema>;
    required?: string[];
  };
  return Object.entries(properties).map(([name, property]) => ({
    name,
    in: place,
    required: place === 'path' || required.includes(name),
    schema: property,
  }));
}

function errorResponses(endpoint: AnyEndpoint): JsonSchema {
  const byStatus = new Map<number, string[]>();
  for (const code of endpoint.problems ?? []) {
    const status = problems[code][0];
    byStatus.set(status, [...(byStatus.get(status) ?? []), code]);
  }
  const content = { 'application/json': { schema: { $ref: '#/components/schemas/Error' } } };
  return Object.fromEntries([
    ...[...byStatus].map(([status, codes]) => [
      String(status),
      { description: codes.join(', '), content },
    ]),
    ['default', { description: 'Any error', content }],
  ]) as JsonSchema;
}

function jsonSchema(schema: z.ZodType, io: 'input' | 'output'): JsonSchema {
  const { $schema: _, ...rest } = z.toJSONSchema(schema, { io, unrepresentable: 'any' });
  return rest;
}

function wrappedSchema(data: JsonSchema): JsonSchema {
  return {
    type: 'object',
    properties: { success: { const: true }, data },
    required: ['success', 'data'],
  };
}

const errorSchema: JsonSchema = {
  type: 'object',
  required: ['success', 'error', 'timestamp'],
  properties: {
    success: { const: false },
    error: {
      type: 'object',
      required: ['code', 'message', 'statusCode', 'requestId', 'suggestion'],
      properties: {
        code: { type: 'string', enum: Object.keys(problems) },
        message: { type: 'string' },
        statusCode: { type: 'integer' },
        requestId: { type: 'string' },
        suggestion: { type: 'string' },
        details: { type: 'object' },
        errors: {
          type: 'array',
          items: {
            type: 'object',
            required: ['field', 'message', 'code'],
            properties: {
              field: { type: 'string' },
              message: { type: 'string' },
              code: { type: 'string' },
              received: { type: 'string' },
            },
          },
        },
      },
    },
    timestamp: { type: 'string', format: 'date-time' },
  },
};
