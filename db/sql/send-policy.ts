import { type RawBuilder, sql } from 'kysely';

/**
 * SQL that is true if a rule of the project may hold back mail of a campaign: the send policy, the
 * hold-out or a ramp.
 * @param campaign the table or its alias.
 */
export function isPolicedCampaign(campaign: string): RawBuilder<boolean> {
  const projectId = sql.ref(`${campaign}.project_id`);
  const isMarketing = sql`${sql.ref(`${campaign}.message_class`)} = 'MARKETING'`;
  return sql<boolean>`(${isMarketing} and (${hasPolicy(projectId)} or ${hasHoldout(projectId)}) or ${hasRamp(projectId)})`;
}

/** SQL that is true if a rule of a project may hold back some of its mail. */
export function holdsMail(projectId: RawBuilder<unknown>): RawBuilder<boolean> {
  return sql<boolean>`(${hasPolicy(projectId)} or ${hasHoldout(projectId)} or ${hasRamp(projectId)})`;
}

function hasPolicy(projectId: RawBuilder<unknown>): RawBuilder<boolean> {
  return sql<boolean>`exists (select from send_policy inner_policy
    where inner_policy.project_id = ${projectId}
      and (inner_policy.quiet_hours is not null or inner_policy.caps <> '[]'))`;
}

function hasHoldout(projectId: RawBuilder<unknown>): RawBuilder<boolean> {
  return sql<boolean>`exists (select from holdout inner_holdout
    where inner_holdout.project_id = ${projectId} and inner_holdout.slots > 0
      and (inner_holdout.ends_at is null or inner_holdout.ends_at > now()))`;
}

/** SQL that is true if a project has a ramp that is not done. */
export function hasRamp(projectId: RawBuilder<unknown>): RawBuilder<boolean> {
  return sql<boolean>`exists (select from ramp inner_ramp
    where inner_ramp.project_id = ${projectId} and inner_ramp.status <> 'DONE')`;
}

/**
 * SQL of the end of the hold of a message. Mail that a ramp holds waits for the next day of this
 * ramp; while the ramp is not running, the mail waits without an end.
 * @param email the table or its alias.
 */
export function heldUntil(email: string): RawBuilder<Date | null> {
  const column = (name: string) => sql.ref(`${email}.${name}`);
  const dayEnd = sql`(select inner_holding_ramp.day_ends_at
    from ramp inner_holding_ramp where inner_holding_ramp.id = ${column('ramp_id')})`;
  return sql<Date | null>`case when ${column('hold_reason')} = 'warm_up'
    then coalesce(${dayEnd}, ${column('held_until')}) else ${column('held_until')} end`;
}
