import { type RawBuilder, sql } from 'kysely';

/**
 * SQL that selects the time for which a campaign checks the consent of a contact: when the
 * contact's page of the audience was fixed, or now if the audience is not fixed yet. For contacts
 * on no page, it is the time of the freeze.
 * @param campaign the table or its alias.
 * @param contact its id and the time of its creation, as SQL
 */
export function judgedAt(
  campaign: string,
  contact: { id: RawBuilder<unknown>; createdAt: RawBuilder<unknown> },
): RawBuilder<Date> {
  const column = (name: string) => sql.ref(`${campaign}.${name}`);
  return sql<Date>`coalesce((select inner_judged.fixed_at from audience_page inner_judged
      where inner_judged.campaign_id = ${column('id')}
        and (inner_judged.to_at, inner_judged.to_id) >= (${contact.createdAt}, ${contact.id})
      order by inner_judged.to_at, inner_judged.to_id limit 1),
    case when ${column('audience_fixed')} or ${column('status')} = 'CANCELLED'
      then ${column('frozen_at')} end, clock_timestamp())`;
}

/**
 * SQL that is true if a contact was subscribed at a moment: the first change after the moment shows
 * the state before the change.
 * @param contact its id and its current subscription, as SQL
 */
export function wasSubscribed(
  contact: { id: RawBuilder<unknown>; isSubscribed: RawBuilder<unknown> },
  at: RawBuilder<unknown>,
): RawBuilder<boolean> {
  return sql<boolean>`coalesce((
    select inner_consent.name = 'contact.unsubscribed' from event inner_consent
      where inner_consent.contact_id = ${contact.id} and inner_consent.recorded_at > ${at}
        and inner_consent.name in ('contact.subscribed', 'contact.unsubscribed')
      order by inner_consent.recorded_at limit 1), ${contact.isSubscribed})`;
}
