const text = { type: 'string' } as const;
const header = (name: string, description: string, example: string) => ({
  name,
  in: 'header',
  required: true,
  description,
  schema: text,
  example,
});

function object<T extends Record<string, object>>(properties: T) {
  return { type: 'object', properties, required: Object.keys(properties) } as const;
}

const id = { type: 'string', format: 'uuid' } as const;
const free = { type: ['object', 'null'], additionalProperties: true } as const;

/** The default body of a WEBHOOK step. */
const body = object({
  contact: object({ id, email: text, subscribed: { type: 'boolean' }, data: free }),
  workflow: object({ id, name: text }),
  execution: object({ id, startedAt: { type: 'string', format: 'date-time' } }),
  event: { ...free, description: 'The data of the event that started the execution' },
});

/** The `webhooks` of the OpenAPI 3.1 document: requests that Everpost sends to receivers. */
export const webhooks = {
  webhookStep: {
    post: {
      operationId: 'receiveWebhookStep',
      summary: 'The request of a WEBHOOK step',
      description:
        'Sent to the URL of the step, with its method (POST by default) and headers. The ' +
        "body is the step's own, or the one described here; GET has none, DELETE only the " +
        "step's own. The call is repeated after a lost response or a temporary failure.",
      tags: ['Workflows'],
      parameters: [
        header(
          'Everpost-Signature',
          'The time of signing in seconds since 1970, and the HMAC-SHA256 in hexadecimal of ' +
            "that number, a dot and the body, with the project's `webhookSigningSecret` as the " +
            'key.',
          't=1764000000,v1=5257a869e7ecebeda32affa62cdca3fa51cad7e77a0e56ff536d0ce8e108d8bd',
        ),
        header(
          'Everpost-Delivery',
          'The same for all attempts of a call, so that the receiver can recognize repeats.',
          '0199f0a2-4c1e-7d3a-8a55-0d7a5a0c1c11',
        ),
        header('User-Agent', 'The sender of the request.', 'Everpost/1'),
      ],
      requestBody: {
        content: {
          'application/json': {
            schema: body,
            example: {
              contact: {
                id: '5b0f6d58-2f0e-4a65-9a55-0d7a5a0c1c11',
                email: 'ada@shop.example',
                subscribed: true,
                data: { plan: 'pro' },
              },
              workflow: { id: '7d1a4c52-6b0e-4f3a-9c55-1d7a5a0c1c12', name: 'Tell the shop' },
              execution: {
                id: '8e2b5d63-7c1f-4a4b-8d66-2e8b6b1d2d13',
                startedAt: '2026-11-20T10:00:00.000Z',
              },
              event: { plan: 'pro' },
            },
          },
        },
      },
      responses: {
        '2XX': { description: 'Accepted: the execution continues.' },
        default: {
          description:
            'After a temporary failure (408, 429, 5xx) the call is repeated, after ' +
            '`Retry-After` if the response has it. Any other status fails the step, unless ' +
            'its `onFailure` is `continue`.',
        },
      },
    },
  },
};
