import type { z } from 'zod';
import { scopeOf } from '../../domain/access/scopes.ts';
import { type ProblemCode, problems } from '../../domain/errors.ts';
import { bodyBytesMax, takesBody } from '../http/bodies/body.ts';
import type { AnyEndpoint, ListedEndpoint, OtherAnswer } from '../http/endpoint.ts';
import { writes } from '../access/auth.ts';
import { cookieName } from '../access/session.ts';
import {
  capitalised,
  component,
  type JsonSchema,
  jsonSchema,
  reference,
  type Schemas,
} from './json-schema.ts';
import { meaningOf } from './parameters.ts';
import { webhooks } from './webhooks.ts';
import { honoursKey } from '../http/idempotency.ts';
import { headerParameters, headers } from './headers.ts';

const json = 'application/json';

/** Statuses without a body. */
const bodyless = new Set([204, 302, 303]);

/**
 * Generates the OpenAPI 3.1 document from the declarations of the endpoints. No library is used,
 * because with a library each endpoint would need a second declaration, or Everpost would need a
 * newer Node.js.
 */
export function openApiDocument(
  endpoints: readonly ListedEndpoint[],
  settings: { apiUrl: string; version: string },
): JsonSchema {
  const paths: Record<string, Record<string, unknown>> = {};
  const schemas: Schemas = { Error: errorSchema };
  for (const endpoint of endpoints) {
    const path = (paths[endpoint.path] ??= {});
    path[endpoint.method.toLowerCase()] = operation(endpoint, schemas);
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Everpost',
      version: settings.version,
      description: about,
      license: { name: 'MIT', identifier: 'MIT' },
    },
    servers: [{ url: settings.apiUrl }],
    paths,
    webhooks,
    components: {
      securitySchemes: {
        apiKey: {
          type: 'http',
          scheme: 'bearer',
          description:
            'The secret key (sk_…) for all endpoints of a project, the public key (pk_…) only for ' +
            'those that accept it. A named key needs the scope that the endpoint lists.',
        },
        session: {
          type: 'apiKey',
          in: 'cookie',
          name: cookieName('everpost_session', settings.apiUrl),
        },
      },
      parameters: headerParameters,
      headers,
      responses: errorResponses,
      schemas,
    },
  };
}

const about = `Email on durable workflows.

Times are ISO 8601 in UTC with milliseconds; requests may use any offset. Ids are UUIDs in lower \
case. Rates are percentages from 0 to 100. A field without a value is null, unless it is optional \
here. All errors have the form \`Error\`; programs should use its \`code\`. Resources of other \
projects return 404. The \`X-Request-ID\` of a request, 1 to 128 printable ASCII characters, is \
returned with the response, and is in the log.

Unknown keys of a body or query are ignored, and listed in the header \`Everpost-Ignored\`. With \
\`Prefer: handling=strict\` (RFC 7240) they are refused, with the field code \`unknown_field\` and \
the most similar known name.`;

function operation(endpoint: ListedEndpoint, schemas: Schemas): JsonSchema {
  return {
    operationId: endpoint.id,
    summary: endpoint.summary,
    description: endpoint.description,
    tags: [endpoint.chapter],
    security: security(endpoint),
    parameters: [
      ...parameters(endpoint, 'path', schemas),
      ...parameters(endpoint, 'query', schemas),
      ...(takesProjectHeader(endpoint) ? [reference('parameters', 'ProjectId')] : []),
      ...(honoursKey(endpoint) ? [reference('parameters', 'IdempotencyKey')] : []),
      ...(takesIfMatch(endpoint) ? [reference('parameters', 'IfMatch')] : []),
      ...(endpoint.asSent ? [] : [reference('parameters', 'Prefer')]),
    ],
    ...(endpoint.body
      ? {
          requestBody: {
            description: `At most ${shownSize(bodyBytesMax(endpoint))}.`,
            required: !endpoint.body.safeParse({}).success,
            content: {
              [endpoint.upload ? 'multipart/form-data' : json]: {
                schema: requestSchema(endpoint, endpoint.body, schemas),
                ...bodyExamples(endpoint),
              },
            },
          },
        }
      : {}),
    responses: responses(endpoint, schemas),
  };
}

/** Returns the schema of a request body, which becomes a component even if it has no id. */
function requestSchema({ id }: AnyEndpoint, body: z.ZodType, schemas: Schemas): JsonSchema {
  const name = `${capitalised(id)}Request`;
  const schema = jsonSchema(body, name, 'input', schemas);
  return '$ref' in schema ? schema : component(name, schema, schemas);
}

function bodyExamples({ example }: AnyEndpoint): JsonSchema {
  if (example?.bodies) {
    const named = Object.entries(example.bodies).map(([name, value]) => [name, { value }] as const);
    return { examples: Object.fromEntries(named) };
  }
  return example?.body === undefined ? {} : { example: example.body };
}

function headersOf(...names: (keyof typeof headers)[]) {
  return Object.fromEntries(names.map((name) => [name, reference('headers', name)]));
}

const rateHeaders = ['RateLimit-Limit', 'RateLimit-Remaining', 'RateLimit-Reset'] as const;

interface Response {
  description: string;
  headers?: JsonSchema;
  content?: JsonSchema;
}

/** Returns every status and content type of an endpoint. */
function responses(endpoint: AnyEndpoint, schemas: Schemas): Record<string, JsonSchema | Response> {
  const { status = 200, contentType = json, otherAnswers = [] } = endpoint;
  const usual = { status, description: 'Success', contentTypes: [contentType] };
  const refused = codesByStatus(endpoint);
  const answered: Record<string, Response> = {};
  for (const given of [usual, ...otherAnswers]) {
    const codes = refused.get(given.status);
    const known = answered[given.status];
    const said = [known?.description ?? codes, given.description].filter(Boolean).join('; ');
    const content = {
      ...(known ? known.content : codes && errorContent),
      ...contentOf(endpoint, given, schemas),
    };
    answered[given.status] = {
      description: said,
      headers: answerHeaders(endpoint, given.status),
      ...(bodyless.has(given.status) ? {} : { content }),
    };
  }
  const shared = [...refused].map(([at, codes]) => [
    at,
    { ...reference('responses', statusNames[at] ?? 'Error'), description: codes },
  ]);
  return {
    ...(Object.fromEntries(shared) as JsonSchema),
    default: reference('responses', 'Error'),
    ...answered,
  };
}

function answerHeaders(endpoint: AnyEndpoint, status: number) {
  return headersOf(
    'X-Request-ID',
    ...(endpoint.limit === 'none' ? [] : rateHeaders),
    ...(honoursKey(endpoint) ? (['Idempotency-Replayed'] as const) : []),
    ...(endpoint.asSent ? [] : (['Everpost-Ignored', 'Preference-Applied'] as const)),
    ...(takesKey(endpoint) ? (['Everpost-Key-Expires'] as const) : []),
    ...(endpoint.hasEtag ? (['ETag'] as const) : []),
    ...(status === 302 || status === 303 ? (['Location'] as const) : []),
  );
}

function contentOf(
  endpoint: AnyEndpoint,
  { contentTypes = [json] }: OtherAnswer,
  schemas: Schemas,
): JsonSchema {
  const schema = jsonSchema(endpoint.response, capitalised(endpoint.id), 'output', schemas);
  const example = endpoint.example?.response;
  const usual = {
    schema: endpoint.wrapped ? wrappedSchema(schema) : schema,
    ...(example !== undefined && {
      example: endpoint.wrapped ? { success: true, data: example } : example,
    }),
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
  const scope = scopeOf(endpoint);
  return [{ apiKey: scope === null ? [] : [scope] }, { session: [] }];
}

function takesKey({ access }: AnyEndpoint): boolean {
  return access !== 'open' && access !== 'session';
}

function takesIfMatch({ hasEtag, method }: AnyEndpoint): boolean {
  return hasEtag === true && method !== 'GET';
}

function takesProjectHeader({ access }: AnyEndpoint): boolean {
  return access === 'secret' || access === 'either';
}

function parameters(
  endpoint: AnyEndpoint,
  place: 'path' | 'query',
  schemas: Schemas,
): JsonSchema[] {
  const schema = place === 'path' ? endpoint.params : endpoint.query;
  if (!schema) return [];
  const { properties = {}, required = [] } = jsonSchema(
    schema,
    capitalised(endpoint.id),
    'input',
    schemas,
  ) as {
    properties?: Record<string, JsonSchema>;
    required?: string[];
  };
  return Object.entries(properties).map(([name, { description, ...property }]) => ({
    name,
    in: place,
    required: place === 'path' || required.includes(name),
    // Readers and client generators expect the description beside the schema, not in it.
    description: description ?? meaningOf(name, endpoint.path),
    schema: property,
  }));
}

function codesByStatus(endpoint: AnyEndpoint): Map<number, string> {
  const own = endpoint.problems ?? [];
  const byStatus = new Map<number, string>();
  for (const problem of new Set([...commonProblems(endpoint), ...own])) {
    const [code, status] = typeof problem === 'string' ? [problem, problems[problem][0]] : problem;
    const others = byStatus.get(status);
    byStatus.set(status, others ? `${others}, ${code}` : code);
  }
  return byStatus;
}

const statusNames: Record<number, string> = {
  400: 'BadRequest',
  401: 'Unauthorized',
  402: 'PaymentRequired',
  403: 'Forbidden',
  404: 'NotFound',
  409: 'Conflict',
  412: 'PreconditionFailed',
  413: 'TooLarge',
  415: 'UnsupportedMediaType',
  422: 'Invalid',
  429: 'TooManyRequests',
  500: 'InternalServerError',
  503: 'ServiceUnavailable',
};

const errorContent = { [json]: { schema: reference('schemas', 'Error') } };

/** The error responses, by name. A response explains the error codes of its status. */
const errorResponses: Record<string, Response> = {
  Error: { description: 'Any error', headers: headersOf('X-Request-ID'), content: errorContent },
};
for (const [status, name] of Object.entries(statusNames)) {
  const meant = Object.entries(problems).filter(([, [at]]) => at === Number(status));
  errorResponses[name] = {
    description: meant.map(([code, [, message]]) => `- \`${code}\`: ${message}`).join('\n'),
    headers: headersOf(
      'X-Request-ID',
      ...(name === 'TooManyRequests' ? ([...rateHeaders, 'Retry-After'] as const) : []),
      ...(name === 'ServiceUnavailable' ? (['Retry-After'] as const) : []),
    ),
    content: errorContent,
  };
}

/** Returns the errors that `pipeline.ts` may return before the handler runs. */
function commonProblems(endpoint: AnyEndpoint): ProblemCode[] {
  const { access, method, asSent, limit, role, fresh, rightsFor } = endpoint;
  const isOpen = access === 'open';
  const takesHeader = takesProjectHeader(endpoint);
  const inProject = endpoint.projectParam !== undefined || access === 'project' || takesHeader;
  const when = (holds: boolean, ...codes: ProblemCode[]) => (holds ? codes : []);
  return [
    ...when(takesKey(endpoint), 'MISSING_AUTH', 'INVALID_API_KEY', 'KEY_RESTRICTED'),
    ...when(scopeOf(endpoint) !== null, 'INSUFFICIENT_SCOPE'),
    ...when(!isOpen, 'UNAUTHORIZED'),
    ...when(takesHeader, 'PROJECT_ID_REQUIRED', 'PROJECT_ACCESS_DENIED'),
    ...when(inProject, 'EMAIL_VERIFICATION_REQUIRED', 'SECOND_FACTOR_REQUIRED'),
    ...when(endpoint.projectParam !== undefined, 'PROJECT_NOT_FOUND'),
    ...when(!isOpen && method !== 'GET', 'ORIGIN_NOT_ALLOWED'),
    ...when(inProject && writes(endpoint), 'PROJECT_DISABLED'),
    ...when(role !== undefined, 'INSUFFICIENT_ROLE'),
    ...when(fresh === true || rightsFor !== undefined, 'REAUTHENTICATION_REQUIRED'),
    ...when(takesIfMatch(endpoint), 'PRECONDITION_FAILED'),
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
        details: { type: 'object', additionalProperties: true },
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
              line: { type: ['integer', 'null'], description: 'For files' },
              column: { type: ['integer', 'null'], description: 'For files' },
            },
          },
        },
      },
    },
    timestamp: { type: 'string', format: 'date-time' },
  },
};
