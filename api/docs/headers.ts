/**
 * The headers in the OpenAPI document: request headers, by the name of their parameter, and
 * response headers.
 */

export const headerParameters = {
  ProjectId: {
    name: 'X-Project-Id',
    in: 'header',
    description:
      'The id of the project for a session: required with the cookie, and ignored with a key.',
    schema: { type: 'string' },
  },
  IdempotencyKey: {
    name: 'Idempotency-Key',
    in: 'header',
    description:
      'Makes a repeat safe: the same request with the same key gets the first response, and ' +
      'the work is not done again. Keys belong to the project, and are kept for 24 hours by ' +
      'default.',
    schema: { type: 'string', minLength: 1, maxLength: 255, pattern: '^[\\x20-\\x7e]+$' },
  },
  IfMatch: {
    name: 'If-Match',
    in: 'header',
    description:
      'The `ETag` of the record as it was read. If the record has changed since, the request is ' +
      'refused with PRECONDITION_FAILED; `details.etag` is the present one.',
    schema: { type: 'string' },
  },
  Prefer: {
    name: 'Prefer',
    in: 'header',
    description: '`handling=strict`: unknown keys of body and query are refused, not ignored.',
    schema: { type: 'string', examples: ['handling=strict'] },
  },
};

export const headers = {
  'X-Request-ID': {
    description: 'The id with which the request was sent, otherwise a new one.',
    schema: { type: 'string' },
  },
  'RateLimit-Limit': {
    description: 'Requests allowed in a window of 60 seconds.',
    schema: { type: 'integer' },
  },
  'RateLimit-Remaining': {
    description: 'Requests left in the window.',
    schema: { type: 'integer' },
  },
  'RateLimit-Reset': {
    description: 'Seconds until the window ends.',
    schema: { type: 'integer' },
  },
  'Retry-After': {
    description: 'Seconds after which to repeat the request.',
    schema: { type: 'integer' },
  },
  'Idempotency-Replayed': {
    description: 'The response is that of an earlier request with the same key.',
    schema: { const: 'true' },
  },
  'Everpost-Ignored': {
    description: 'Unknown keys of body and query that were ignored.',
    schema: { type: 'string', examples: ['html, track'] },
  },
  'Everpost-Key-Expires': {
    description: 'The value of this API key was replaced, and is valid until this time.',
    schema: { type: 'string', format: 'date-time' },
  },
  'Preference-Applied': {
    description: 'Unknown keys were not ignored: `Prefer: handling=strict` was applied.',
    schema: { const: 'handling=strict' },
  },
  ETag: {
    description:
      'Changes with the fields that can be edited, not with counters. Send it as `If-Match`.',
    schema: { type: 'string' },
  },
  Location: { description: 'Target URL.', schema: { type: 'string', format: 'uri' } },
};
