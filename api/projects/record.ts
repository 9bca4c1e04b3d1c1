import { z } from 'zod';
import type { MemberProjectRow } from '../../db/projects/projects.ts';
import type { Cipher } from '../../providers/encryption.ts';
import type { UserCaller } from '../access/caller.ts';
import { roles } from '../../domain/roles.ts';
import { exampleOf, present } from '../http/record.ts';
import { named, ofProject, times } from '../http/schemas.ts';

/** A project as a member sees it. */
export const Project = named('Project', {
  id: ofProject.projectId,
  name: z.string().meta({ examples: ['My shop'] }),
  public: z.string().meta({ examples: [`pk_${'3f'.repeat(32)}`] }),
  secret: z.string().meta({
    description: 'Complete only if the keys were just created',
    examples: ['sk_…9f3a'],
  }),
  role: z.enum(roles),
  disabled: z.boolean(),
  disabledReason: z
    .enum([
      'PAYMENT_FAILED',
      'EMAIL_REPUTATION',
      'PHISHING_DETECTED',
      'CARD_VERIFICATION_FAILED',
      'MANUAL',
    ])
    .nullable(),
  tracking: z.enum(['ENABLED', 'DISABLED', 'MARKETING_ONLY']),
  language: z.string().meta({ examples: ['en'] }),
  customer: z.string().nullable(),
  subscription: z.string().nullable(),
  billingLimitWorkflows: z.int().nullable(),
  billingLimitCampaigns: z.int().nullable(),
  billingLimitTransactional: z.int().nullable(),
  billingLimitInbound: z.int().nullable(),
  webhookSigningSecret: z
    .string()
    .nullable()
    .meta({
      description: 'null for the role MEMBER, and while `secondFactorRequired` is true',
      examples: [`whsec_${'7a'.repeat(32)}`],
    }),
  keysMayNameAdmins: z
    .literal(true)
    .optional()
    .describe('Present if the secret key of the pair may make members administrators'),
  secondFactorRequired: z
    .literal(true)
    .optional()
    .describe('Present if the project demands a second factor, which the session does not have'),
  ...times,
});

const { secondFactorRequired: _, keysMayNameAdmins: __, ...usual } = exampleOf(Project);
export const project = usual;
export const projectWithSecret = { ...project, secret: `sk_${'9f3a'.repeat(16)}` };

/**
 * Returns the record of a project.
 * @param more.secret the secret key, known only right after its creation, because only its hash is
 * stored
 * @param more.session the caller's session, which may lack the second factor that the project
 * requires
 */
export function presentProject(
  row: MemberProjectRow,
  cipher: Cipher,
  { secret, session }: { secret?: string; session?: UserCaller } = {},
) {
  const lacksFactor = row.requires_second_factor && session?.secondFactor === null;
  const isShown = row.role !== 'MEMBER' && !lacksFactor;
  return present(Project, row, {
    id: row.public_id ?? row.id,
    public: row.public_key,
    secret: secret ?? `sk_…${row.secret_key_last4}`,
    disabled: row.disabled_reason !== null,
    webhookSigningSecret: isShown ? cipher.decrypt(row.webhook_signing_secret) : null,
    keysMayNameAdmins: row.keys_may_name_admins ? (true as const) : undefined,
    ...(lacksFactor && { secondFactorRequired: true as const }),
  });
}
