import { sql } from 'kysely';
import type { ConsentPolicy } from '../../domain/consent/policy.ts';
import { notFound } from '../../domain/errors.ts';
import type { SuppressionScope } from '../../domain/mail/suppression.ts';
import type { Database } from '../database.ts';

/** A stored policy. `updatedAt` null: the project has set no policy, and these are the defaults. */
export type StoredConsentPolicy = ConsentPolicy & { updatedAt: Date | null };

/** Reads the consent policy of a project; the defaults if it has set none. */
export function readConsentPolicy(db: Database, projectId: string): Promise<StoredConsentPolicy> {
  return selectPolicy(db, projectId, { isLocked: false });
}

/** Reads the policy and locks it against changes until the transaction ends. */
export function lockConsentPolicy(tx: Database, projectId: string): Promise<StoredConsentPolicy> {
  return selectPolicy(tx, projectId, { isLocked: true });
}

/**
 * Reads the consent policy of a project; the defaults if it has set none.
 * @throws Problem PROJECT_NOT_FOUND
 */
async function selectPolicy(
  db: Database,
  projectId: string,
  { isLocked }: { isLocked: boolean },
): Promise<StoredConsentPolicy> {
  const row = await db
    .selectFrom('project')
    .select([
      'opt_in_required as requireConfirmation',
      'opt_in_template_id as templateId',
      'opt_in_from_email as from',
      'opt_in_from_name as fromName',
      'opt_in_remind_after as remindAfter',
      'opt_in_expire_after as expireAfter',
      'consent_policy_at as updatedAt',
    ])
    .select(sql<SuppressionScope>`coalesce(bounce_scope, 'marketing')`.as('bounceScope'))
    .where('id', '=', projectId)
    .where('removal', 'is', null)
    .$if(isLocked, (query) => query.forNoKeyUpdate())
    .executeTakeFirst();
  if (!row) throw notFound('PROJECT', projectId);
  return row;
}

/** Stores a policy that the caller has locked. Returns the stored policy. */
export async function updateConsentPolicy(
  tx: Database,
  projectId: string,
  policy: ConsentPolicy,
): Promise<StoredConsentPolicy> {
  await tx
    .updateTable('project')
    .set({
      opt_in_required: policy.requireConfirmation,
      opt_in_template_id: policy.templateId,
      opt_in_from_email: policy.from,
      opt_in_from_name: policy.fromName,
      opt_in_remind_after: policy.remindAfter,
      opt_in_expire_after: policy.expireAfter,
      bounce_scope: policy.bounceScope,
      consent_policy_at: sql<Date>`clock_timestamp()`,
    })
    .where('id', '=', projectId)
    .execute();
  return readConsentPolicy(tx, projectId);
}

/**
 * Returns true if a project's policy uses one of these templates. The caller has locked the
 * templates.
 */
export async function isPolicyTemplate(
  tx: Database,
  projectId: string,
  ids: readonly string[],
): Promise<boolean> {
  const { templateId } = await readConsentPolicy(tx, projectId);
  return templateId !== null && ids.includes(templateId);
}
