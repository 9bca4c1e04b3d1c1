import { z } from 'zod';
import { limits } from '../../limits.ts';
import { foreignSecrets } from '../../secrets/hosts.ts';
import { hidden } from '../../secrets/in-templates.ts';
import { isToken } from '../../subscription/settings.ts';
import { addFault, JsonObject } from './schemas.ts';
import { renderWebhook } from '../../webhook/render.ts';
import type { FoundSecret, StepEffects } from './effects.ts';
import { StepFailure, type StepModule } from './step.ts';

/** Headers of a webhook that a step must not set, because Everpost sets them; in lower case. */
const reservedHeaders: ReadonlySet<string> = new Set([
  'user-agent',
  'everpost-delivery',
  'everpost-signature',
  'host',
  'content-length',
  'transfer-encoding',
  'connection',
]);

const WebhookHeaders = JsonObject.superRefine((headers, context) => {
  for (const [name, value] of Object.entries(headers)) {
    if (!isToken(name)) {
      const message = 'The name of a header must be ASCII, without spaces and colons.';
      addFault(context, [name], 'invalid_string', message);
    } else if (reservedHeaders.has(name.toLowerCase())) {
      addFault(context, [name], 'not_allowed', 'Everpost sets this header itself. Remove it.');
    } else if (typeof value !== 'string') {
      addFault(context, [name], 'invalid_type', 'Must be text.');
    } else if (value.length > limits.headerValueChars) {
      addFault(
        context,
        [name],
        'too_big',
        `Must have at most ${limits.headerValueChars} characters, not ${value.length}.`,
      );
    } else if (/[\r\n]/.test(value)) {
      addFault(context, [name], 'invalid_string', 'Must be one line, without line breaks.');
    }
  }
})
  .transform((headers) => headers as Record<string, string>)
  .meta({ type: 'object', additionalProperties: { type: 'string' } });

const WebhookConfig = z.object({
  url: z.string().regex(/^https?:\/\/./is, 'Must begin with http:// or https://.'),
  /** Absent: POST. */
  method: z.enum(['GET', 'POST', 'PUT', 'PATCH', 'DELETE']).optional(),
  headers: WebhookHeaders.optional(),
  /** Any JSON. */
  body: z.unknown().optional(),
  /** Effect of a response other than 2xx on the execution. Absent: it continues. */
  onFailure: z.enum(['continue', 'fail']).optional(),
});

export const webhook: StepModule<z.output<typeof WebhookConfig>> = {
  config: WebhookConfig,
  ways: 'one',
  queue: '-webhook',
  async play({ config }, effects) {
    const variables = await effects.readVariables();
    const mark = await effects.secretMark();
    const rendered = await renderWebhook(effects.renderer, config, variables, mark);
    const secrets = await requireSecrets(effects, rendered.secretNames);
    const request = rendered.build((name) => secrets.find((one) => one.name === name)?.value ?? '');
    const shown = secrets.length === 0 ? request : rendered.build(() => hidden);
    if ('fault' in request) throw new StepFailure(request.fault);
    if ('fault' in shown) throw new StepFailure(shown.fault);
    refuseForeignSecrets(secrets, request.url, shown.url);
    const call = { request, shown, secrets: secrets.map(({ value }) => value) };
    return { kind: 'call', call };
  },
  afterCall({ onFailure }, output) {
    if (output.success) return { kind: 'done', output };
    const error = output.error ?? '';
    if (onFailure === 'fail') throw new StepFailure(error, output);
    return { kind: 'done', output, gaveUp: error };
  },
  address: ({ url }) => url,
  label: 'WEBHOOK',
  examples: [
    {
      name: 'Tell the shop',
      config: {
        url: 'https://shop.example/hooks/welcomed',
        headers: { Authorization: 'Bearer {{secret.SHOP_KEY}}' },
        body: { email: '{{email}}' },
        onFailure: 'fail',
      },
    },
  ],
};

/**
 * Refuses a request that contains a secret which must not be sent to its host.
 * @param shown the URL with its secrets hidden
 * @throws StepFailure
 */
function refuseForeignSecrets(secrets: readonly FoundSecret[], url: string, shown: string): void {
  // No request is made to a URL that cannot be parsed, so it needs no check.
  if (!URL.canParse(url)) return;
  const address = new URL(url);
  const [foreign] = foreignSecrets(secrets, address);
  if (foreign === undefined) return;
  // The host is shown only if it contains no secret.
  const isPlain = URL.canParse(shown) && new URL(shown).host === address.host;
  throw new StepFailure(
    `secret not allowed: ${foreign} must not be sent to ${isPlain ? address.host : hidden}. ` +
      'Add the host to `hosts` of the secret, then retry the execution.',
  );
}

/**
 * Returns the secrets with these names.
 * @throws StepFailure when one does not exist
 */
async function requireSecrets(
  effects: StepEffects,
  names: readonly string[],
): Promise<FoundSecret[]> {
  if (names.length === 0) return [];
  const found = await effects.findSecrets(names);
  const missing = names.find((name) => !found.some((secret) => secret.name === name));
  if (missing !== undefined) {
    throw new StepFailure(
      `unknown secret: the project has no secret ${missing}. Create it, then retry the execution.`,
    );
  }
  return found;
}
