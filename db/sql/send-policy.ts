import { type RawBuilder, sql } from 'kysely';

/**
 * SQL that is true if the project's send policy may hold back mail of a campaign.
 * @param campaign the table or its alias.
 */
export function isPolicedCampaign(campaign: string): RawBuilder<boolean> {
  return sql<boolean>`(${sql.ref(`${campaign}.message_class`)} = 'MARKETING'
    and ${holdsMail(sql.ref(`${campaign}.project_id`))})`;
}

export function holdsMail(projectId: RawBuilder<unknown>): RawBuilder<boolean> {
  return sql<boolean>`exists (select from send_policy inner_policy
    where inner_policy.project_id = ${projectId}
      and (inner_policy.quiet_hours is not null or inner_policy.caps <> '[]'))`;
}
