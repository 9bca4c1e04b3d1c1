import { randomBytes } from 'node:crypto';
import { z } from 'zod';
import {
  insertProject,
  listProjects,
  type MemberProjectRow,
  type StoredKeys,
  updateProjectKeys,
} from '../../db/projects.ts';
import type { Seal } from '../../db/sealed.ts';
import { found } from '../../domain/errors.ts';
import { roles } from '../../domain/roles.ts';
import { authorizeProject, hashSecret, refuseDisabled, requireVerified } from '../auth.ts';
import { endpoint } from '../endpoint.ts';
import { Name, Time, time, Uuid } from '../schemas.ts';

const Project = z.object({
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

const project: z.input<typeof Project> = {
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
const projectWithSecret = { ...project, secret: `sk_${'9f3a'.repeat(16)}` };

const listMyProjects = endpoint({
  id: 'listMyProjects',
  method: 'GET',
  path: '/users/@me/projects',
  tag: 'Projects',
  summary: 'List the projects of the logged-in user',
  access: 'session',
  response: z.array(Project),
  example: { response: [project] },
  async handle({ db, seal, caller }) {
    const rows = await listProjects(db, caller.userId);
    return rows.map((row) => presentProject(row, seal));
  },
});

const createProject = endpoint({
  id: 'createProject',
  method: 'POST',
  path: '/users/@me/projects',
  tag: 'Projects',
  summary: 'Create a project',
  access: 'session',
  status: 201,
  idempotent: true,
  body: z.object({ name: Name }),
  response: Project,
  problems: ['PROJECT_DISABLED', 'EMAIL_VERIFICATION_REQUIRED'],
  example: { body: { name: 'My shop' }, response: projectWithSecret },
  async handle({ db, seal, caller, body }) {
    requireVerified(caller);
    for (const { id, disabled_reason: disabledReason } of await listProjects(db, caller.userId)) {
      refuseDisabled({ id, disabledReason });
    }
    const keys = newKeys();
    const row = await insertProject(db, {
      ...keys.stored,
      name: body.name,
      webhookSigningSecret: seal.close(`whsec_${randomHex()}`),
      ownerId: caller.userId,
    });
    return presentProject(row, seal, keys.secret);
  },
});

const regenerateKeys = endpoint({
  id: 'regenerateKeys',
  method: 'POST',
  path: '/users/@me/projects/{id}/regenerate-keys',
  tag: 'Projects',
  summary: 'Replace both keys; the old ones are dead at once',
  access: 'session',
  projectParam: 'id',
  params: z.object({ id: Uuid }),
  response: Project,
  problems: ['PROJECT_NOT_FOUND', 'INSUFFICIENT_ROLE', 'PROJECT_DISABLED'],
  example: { response: projectWithSecret },
  async handle({ db, seal, caller, params }) {
    const { role } = await authorizeProject({ db, caller }, params.id, {
      admin: true,
      write: true,
    });
    const keys = newKeys();
    const row = await updateProjectKeys(db, params.id, keys.stored);
    return presentProject({ ...found('PROJECT', params.id, row), role }, seal, keys.secret);
  },
});

export const projectEndpoints = [listMyProjects, createProject, regenerateKeys];

function newKeys(): { secret: string; stored: StoredKeys } {
  const secret = `sk_${randomHex()}`;
  return {
    secret,
    stored: {
      publicKey: `pk_${randomHex()}`,
      secretKeyHash: hashSecret(secret),
      secretKeyLast4: secret.slice(-4),
    },
  };
}

/** 32 random bytes as 64 lower-case hex characters. */
function randomHex(): string {
  return randomBytes(32).toString('hex');
}

/** `secret`: the secret key, where it was just made; it is not stored. */
function presentProject(row: MemberProjectRow, seal: Seal, secret?: string) {
  return {
    id: row.id,
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
    webhookSigningSecret: row.role === 'MEMBER' ? null : seal.open(row.webhook_signing_secret),
    createdAt: time(row.created_at),
    updatedAt: time(row.updated_at),
  };
}
