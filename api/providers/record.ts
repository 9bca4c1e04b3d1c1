import { z } from 'zod';
import type { Change } from '../../db/accounts/security-events.ts';
import { findOpenCircuits } from '../../db/delivery/provider-circuit.ts';
import { fieldsOf, findProvider, type ProviderRow } from '../../db/providers/providers.ts';
import { found, Problem } from '../../domain/errors.ts';
import { isUuid } from '../../domain/ids.ts';
import {
  circuitName,
  feedbackKinds,
  installationId,
  reportsDelivery,
  securities,
} from '../../domain/provider/provider.ts';
import type { PoolProvider } from '../../providers/mail-pool.ts';
import type { OwnerProject, ProjectCaller } from '../access/caller.ts';
import { changesBetween } from '../access/changes.ts';
import { exampleOf } from '../http/record.ts';
import { fault, named, ofProject, Time, time } from '../http/schemas.ts';
import type { Services } from '../services/services.ts';

export const stateFields = {
  state: z
    .enum(['up', 'down', 'disabled'])
    .describe('down: it cannot take mail now; mail waits, and one at a time is tried'),
  nextTryAt: Time.nullable().describe('When the next mail is tried while it is down'),
};

const settings = {
  hasFeedbackSecret: z.boolean(),
  domains: z
    .array(z.string())
    .nullable()
    .describe('Sender domains that it may send for; null: all'),
  ratePerSecond: z
    .int()
    .nullable()
    .describe('null: no limit of its own')
    .meta({ examples: [50] }),
  maxMessageMb: z
    .int()
    .nullable()
    .describe('null: no limit of its own')
    .meta({ examples: [10] }),
  ownSigning: z.boolean().describe('False: its mail gets no DKIM signature of ours'),
  reportsDelivery: z
    .boolean()
    .describe('True if mail can become DELIVERED')
    .meta({ examples: [true] }),
  ...stateFields,
  ...ofProject,
};

const head = {
  id: z.uuid().meta({ examples: ['90000000-0000-4000-8000-000000000001'] }),
  scope: z.literal('project'),
  name: z.string().meta({ examples: ['Postmark EU'] }),
};

export const SmtpProvider = named('SmtpProvider', {
  ...head,
  kind: z.literal('smtp'),
  feedback: z.enum(feedbackKinds).meta({ examples: ['postmark'] }),
  enabled: z.boolean().meta({ examples: [true] }),
  host: z.string().meta({ examples: ['smtp.postmarkapp.com'] }),
  port: z.int().meta({ examples: [587] }),
  security: z.enum(securities),
  user: z
    .string()
    .nullable()
    .meta({ examples: ['3f0c'] }),
  hasPassword: z.boolean().meta({ examples: [true] }),
  ...settings,
});

export const SesProvider = named('SesProvider', {
  ...head,
  kind: z.literal('ses'),
  feedback: z.literal('ses'),
  enabled: z.boolean().meta({ examples: [true] }),
  region: z.string().meta({ examples: ['eu-west-1'] }),
  accessKeyId: z.string().meta({ examples: ['AKIAIOSFODNN7EXAMPLE'] }),
  configurationSet: z.string().nullable(),
  snsTopicArn: z.string().nullable(),
  ...settings,
});

export const InstallationProvider = named('InstallationProvider', {
  id: z
    .string()
    .describe('`default`, or a name that the operator has given')
    .meta({ examples: ['default'] }),
  scope: z.literal('installation'),
  name: z.string().meta({ examples: ['default'] }),
  kind: z.enum(['smtp', 'ses', 'mailbox']),
  feedback: z.enum([...feedbackKinds, 'mailbox']),
  enabled: z.boolean().meta({ examples: [true] }),
  reportsDelivery: z.boolean(),
  ...stateFields,
});

export const OwnProvider = z.union([SmtpProvider, SesProvider]);
export const Provider = z.union([SmtpProvider, SesProvider, InstallationProvider]);

export const smtpExample = {
  ...exampleOf(SmtpProvider),
  feedback: 'postmark' as const,
  security: 'starttls' as const,
};
export const installationExample = exampleOf(InstallationProvider);

/** The id of a project's own provider, or the name of a provider of the installation. */
export const ByProviderId = z.object({
  id: z
    .string()
    .transform((id) => (isUuid(id) ? id.toLowerCase() : id))
    .refine(
      (id) => isUuid(id) || installationId.test(id),
      fault(
        'invalid_string',
        'Must be the uuid of a provider, or the name of one that the operator has set up.',
      ),
    )
    .describe('A uuid, or the name of a provider that the operator has set up'),
});

/**
 * Providers that cannot take mail now, by the name of their circuit breaker, with the time of the
 * next attempt.
 */
type Circuits = ReadonlyMap<string, Date>;

export function providerState(enabled: boolean, circuits: Circuits, circuit: string) {
  const nextTryAt = enabled ? (circuits.get(circuit) ?? null) : null;
  const state = enabled ? (nextTryAt === null ? 'up' : 'down') : 'disabled';
  return { state, nextTryAt: time(nextTryAt) } as const;
}

export function presentInstallation(
  { id, name, kind, feedback, enabled, reportsDelivery, mailer }: PoolProvider,
  circuits: Circuits,
): z.input<typeof InstallationProvider> {
  return {
    id,
    scope: 'installation',
    name,
    kind: kind as 'smtp',
    feedback: feedback as 'dsn',
    enabled,
    reportsDelivery,
    ...providerState(enabled, circuits, mailer.provider),
  };
}

/** Returns the record of a project's own provider, without its secrets. */
export function presentOwn(
  row: ProviderRow,
  { publicId: projectId }: OwnerProject,
  given: { circuits: Circuits; successReports: boolean },
): z.input<typeof OwnProvider> {
  const fields = fieldsOf(row);
  const head = { id: row.id, scope: 'project' as const, name: row.name };
  const rest = {
    hasFeedbackSecret: row.feedback_secret !== null,
    domains: row.domains,
    ratePerSecond: row.rate_per_second,
    maxMessageMb: row.max_message_mb,
    ownSigning: row.own_signing,
    reportsDelivery: reportsDelivery(row.feedback, given),
    ...providerState(row.enabled, given.circuits, circuitName(row.id)),
    projectId,
    createdAt: time(row.created_at),
    updatedAt: time(row.updated_at),
  };
  const { enabled } = row;
  if (fields.kind === 'ses') return { ...head, ...fields, feedback: 'ses', enabled, ...rest };
  const feedback = row.feedback as 'dsn';
  return { ...head, ...fields, feedback, enabled, hasPassword: row.secret !== null, ...rest };
}

/** Returns the changed fields of a provider, for the security log. */
export function providerChanges(before: ProviderRow, after: ProviderRow): Change[] {
  const secrets = ['password', 'secretAccessKey', 'feedbackSecret'];
  return changesBetween(settingsOf(before), settingsOf(after), { secret: secrets });
}

function settingsOf(row: ProviderRow): object {
  const fields = fieldsOf(row);
  return {
    name: row.name,
    ...fields,
    [fields.kind === 'ses' ? 'secretAccessKey' : 'password']: row.secret,
    feedback: row.feedback,
    feedbackSecret: row.feedback_secret,
    enabled: row.enabled,
    domains: row.domains,
    ratePerSecond: row.rate_per_second,
    maxMessageMb: row.max_message_mb,
    ownSigning: row.own_signing,
  };
}

type Sources = Pick<Services, 'db' | 'config' | 'mailPool'>;

/** Presents a provider of the caller's project, with its current state. */
export async function showOwn(
  { db, config }: Sources,
  row: ProviderRow,
  project: OwnerProject,
): Promise<z.input<typeof OwnProvider>> {
  const { successReports } = config.mail;
  const circuits = await findOpenCircuits(db, [circuitName(row.id)]);
  return presentOwn(row, project, { circuits, successReports });
}

/**
 * Returns a provider of the caller's project.
 * @throws Problem PROVIDER_NOT_FOUND; FORBIDDEN for a provider of the installation
 */
export async function requireOwn(
  { db, mailPool }: Pick<Sources, 'db' | 'mailPool'>,
  { projectId }: Pick<ProjectCaller, 'projectId'>,
  id: string,
): Promise<ProviderRow> {
  refuseInstallation(mailPool, id);
  return found('PROVIDER', id, await findOwn(db, projectId, id));
}

/**
 * Refuses to change a provider of the installation.
 * @throws Problem FORBIDDEN
 */
function refuseInstallation({ installation }: Services['mailPool'], id: string): void {
  if (!installation.some((one) => one.id === id)) return;
  throw new Problem('FORBIDDEN', {
    message: `The operator of this server has set up the provider ${id}. Projects can use it, but not change or test it.`,
    suggestion: 'Ask the operator of this server, or add a provider with POST /providers.',
  });
}

export async function findOwn(
  db: Services['db'],
  projectId: string,
  id: string,
): Promise<ProviderRow | undefined> {
  return isUuid(id) ? findProvider(db, projectId, id) : undefined;
}
