import { z } from 'zod';
import { type ProblemCode, problems } from '../../domain/errors.ts';
import { bodyBytesMax, takesBody } from './body.ts';
import type { AnyEndpoint, OtherAnswer } from './endpoint.ts';
import { writes } from '../access/auth.ts';
import { cookieName } from '../access/session.ts';
import { honoursKey } from './idempotency.ts';

type JsonSchema = Record<string, unknown>;

const json = 'application/json';

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
    responses: responses(endpoint),
  };
}

interface Response {
  description: string;
  content?: JsonSchema;
}

/** Every status and every form that the endpoint answers. */
function responses(endpoint: AnyEndpoint): Record<string, Response> {
  const { status = 200, contentType = json, otherAnswers = [] } = endpoint;
  const usual = { status, description: 'Success', contentTypes: [contentType] };
  const all = errorResponses(endpoint);
  for (const given of [usual, ...otherAnswers]) {
    const known = all[given.status];
    const description = known ? `${known.description}; ${given.description}` : given.description;
    const content = { ...known?.content, ...contentOf(endpoint, given) };
    all[given.status] = { description, ...(bodyless.has(given.status) ? {} : { content }) };
  }
  return all;
}

function contentOf(endpoint: AnyEndpoint, { contentTypes = [json] }: OtherAnswer): JsonSchema {
  const schema = jsonSchema(endpoint.response, 'output');
  const example = endpoint.example?.response;
  const usual = {
    schema: endpoint.wrapped ? wrappedSchema(schema) : schema,
    ...(example === undefined ? {} : { example }),
  };
  const isUsual = (type: string) => type === json || !type.startsWith('text/');
  return Object.fromEntries(
    contentTypes.map((type) => [type, isUsual(type) ? usual : { schema: { type: 'string' } }]),
  );
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

function errorResponses(endpoint: AnyEndpoint): Record<string, Response> {
  const byStatus = new Map<number, Set<string>>();
  for (const code of [...commonProblems(endpoint), ...(endpoint.problems ?? [])]) {
    const status = problems[code][0];
    byStatus.set(status, (byStatus.get(status) ?? new Set()).add(code));
  }
  const content = { [json]: { schema: { $ref: '#/components/schemas/Error' } } };
  return Object.fromEntries([
    ...[...byStatus].map(([status, codes]) => [
      String(status),
      { description: [...codes].join(', '), content },
    ]),
    ['default', { description: 'Any error', content }],
  ]) as Record<string, Response>;
}

/** What the way to every handler may refuse, as `pipeline.ts` goes it. */
function commonProblems(endpoint: AnyEndpoint): ProblemCode[] {
  const { access, method, asSent, limit, role, fresh } = endpoint;
  const isOpen = access === 'open';
  const takesHeader = access === 'secret' || access === 'either';
  const inProject = endpoint.projectParam !== undefined || access === 'project' || takesHeader;
  const when = (holds: boolean, ...codes: ProblemCode[]) => (holds ? codes : []);
  return [
    ...when(!isOpen && access !== 'session', 'MISSING_AUTH', 'INVALID_API_KEY'),
    ...when(!isOpen, 'UNAUTHORIZED'),
    ...when(takesHeader, 'PROJECT_ID_REQUIRED', 'PROJECT_ACCESS_DENIED'),
    ...when(inProject, 'EMAIL_VERIFICATION_REQUIRED'),
    ...when(endpoint.projectParam !== undefined, 'PROJECT_NOT_FOUND'),
    ...when(!isOpen && method !== 'GET', 'ORIGIN_NOT_ALLOWED'),
    ...when(inProject && writes(endpoint), 'PROJECT_DISABLED'),
    ...when(role !== undefined, 'INSUFFICIENT_ROLE'),
    ...when(fresh === true, 'REAUTHENTICATION_REQUIRED'),
    ...when(takesBody(endpoint) && !asSent, 'INVALID_REQUEST_BODY'),
    endpoint.upload ? 'FILE_TOO_LARGE' : 'PAYLOAD_TOO_LARGE',
    'UNSUPPORTED_MEDIA_TYPE',
    ...when(!asSent, 'VALIDATION_ERROR'),
    ...when(honoursKey(endpoint), 'INVALID_IDEMPOTENCY_KEY', ...keyConflicts),
    ...when(limit !== 'none', 'RATE_LIMIT_EXCEEDED'),
    'INTERNAL_SERVER_ERROR',
    'SERVICE_UNAVAILABLE',
  ];
}

const keyConflicts = ['IDEMPOTENCY_KEY_REUSED', 'IDEMPOTENCY_IN_PROGRESS'] as const;

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
