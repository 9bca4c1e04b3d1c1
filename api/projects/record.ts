import { z } from 'zod';
import type { MemberProjectRow } from '../../db/projects/projects.ts';
import type { Cipher } from '../../providers/encryption.ts';
import { roles } from '../../domain/roles.ts';
import { named, Time, time } from '../http/schemas.ts';

/** A project as a member sees it. */
export const Project = named('Project', {
  id: z.uuid(),
  name: z.string(),
  public: z.string(),
  secret: z.string().meta({ description: 'Complete only when the keys were just made' }),
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
  language: z.string(),
  customer: z.string().nullable(),
  subscription: z.string().nullable(),
  billingLimitWorkflows: z.int().nullable(),
  billingLimitCampaigns: z.int().nullable(),
  billingLimitTransactional: z.int().nullable(),
  billingLimitInbound: z.int().nullable(),
  webhookSigningSecret: z.string().nullable().meta({ description: 'null for the role MEMBER' }),
  createdAt: Time,
  updatedAt: Time,
});

/** For the documentation. */
export const project: z.input<typeof Project> = {
  id: '0e9b6f0c-52a8-4b5c-8a51-0f3f6b9d2c01',
  name: 'My shop',
  public: `pk_${'3f'.repeat(32)}`,
  secret: 'sk_…9f3a',
  role: 'OWNER',
  disabled: false,
  disabledReason: null,
  tracking: 'ENABLED',
  language: 'en',
  customer: null,
  subscription: null,
  billingLimitWorkflows: null,
  billingLimitCampaigns: null,
  billingLimitTransactional: null,
  billingLimitInbound: null,
  webhookSigningSecret: `whsec_${'7a'.repeat(32)}`,
  createdAt: '2026-11-20T10:00:00.000Z',
  updatedAt: '2026-11-20T10:00:00.000Z',
};
export const projectWithSecret = { ...project, secret: `sk_${'9f3a'.repeat(16)}` };

/** `secret`: the secret key, if it was just created; it is not stored. */
export function presentProject(row: MemberProjectRow, cipher: Cipher, secret?: string) {
  return {
    id: row.public_id ?? row.id,
    name: row.name,
    public: row.public_key,
    secret: secret ?? `sk_…${row.secret_key_last4}`,
    role: row.role,
    disabled: row.disabled_reason !== null,
    disabledReason: row.disabled_reason as z.input<typeof Project>['disabledReason'],
    tracking: row.tracking as z.input<typeof Project>['tracking'],
    language: row.language,
    customer: row.customer,
    subscription: row.subscription,
    billingLimitWorkflows: row.billing_limit_workflows,
    billingLimitCampaigns: row.billing_limit_campaigns,
    billingLimitTransactional: row.billing_limit_transactional,
    billingLimitInbound: row.billing_limit_inbound,
    webhookSigningSecret: row.role === 'MEMBER' ? null : cipher.decrypt(row.webhook_signing_secret),
    createdAt: time(row.created_at),
    updatedAt: time(row.updated_at),
  };
}
