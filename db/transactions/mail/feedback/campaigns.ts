import { sql } from 'kysely';
import type { Database } from '../../../database.ts';
import { signalCampaign } from '../../../outbox/outbox.ts';
import type { CampaignCounter, MessageState } from '../../../../domain/mail/feedback.ts';

/** A change of a message by feedback. */
interface MessageChange {
  /** The message before the change. */
  email: Pick<MessageState, 'sent_at' | 'delivered_at' | 'bounced_at'> & {
    campaign_id: string | null;
    status: string;
    delivery_unreported: boolean;
  };
  state: MessageState;
  counters: readonly CampaignCounter[];
  /** True if nothing reports the delivery of the message. */
  isUnreported: boolean;
}

/**
 * Counts the changes for the campaigns, and signals the runs of those that may have waited for the
 * outcome of a message.
 */
export async function countForCampaigns(
  tx: Database,
  changes: readonly MessageChange[],
): Promise<void> {
  const ids = new Set(changes.flatMap(({ email }) => email.campaign_id ?? []));
  for (const id of [...ids].toSorted()) {
    const own = changes.filter(({ email }) => email.campaign_id === id);
    await countForCampaign(tx, id, own);
  }
}

async function countForCampaign(
  tx: Database,
  id: string,
  changes: readonly MessageChange[],
): Promise<void> {
  const counted = changes.flatMap((change) => change.counters);
  const isOver = changes.some(({ email, state }) =>
    state.status === 'FAILED' ? email.status !== 'FAILED' : email.sent_at === null,
  );
  if (counted.length === 0 && !isOver) return;
  const assumed = changes.reduce((sum, change) => sum + assumedBy(change), 0);
  const unreported = changes.filter(
    ({ email, isUnreported }) => isUnreported && !email.delivery_unreported,
  ).length;
  const more = (counter: CampaignCounter) => counted.filter((one) => one === counter).length;
  const { rows } = await sql<{ id: string; project_id: string; name: string; status: string }>`
    update campaign set sent_count = sent_count + ${more('sent_count')}::int,
        delivered_count = delivered_count + ${more('delivered_count')}::int,
        opened_count = opened_count + ${more('opened_count')}::int,
        clicked_count = clicked_count + ${more('clicked_count')}::int,
        bounced_count = bounced_count + ${more('bounced_count')}::int,
        complained_count = complained_count + ${more('complained_count')}::int,
        unsubscribed_count = unsubscribed_count + ${more('unsubscribed_count')}::int,
        assumed_count = assumed_count + ${assumed}::int,
        unreported_count = unreported_count + ${unreported}::int
      where id = ${id} returning id, project_id, name, status`.execute(tx);
  const [campaign] = rows;
  if (campaign && isOver) await signalCampaign(tx, campaign);
}

/** Returns by how much a change increases the number of messages whose delivery is assumed. */
function assumedBy({ email, state, isUnreported }: MessageChange): number {
  const isAssumed = (
    one: Pick<MessageState, 'sent_at' | 'delivered_at' | 'bounced_at'>,
    cannotBeReported: boolean,
  ) =>
    cannotBeReported &&
    one.sent_at !== null &&
    one.delivered_at === null &&
    one.bounced_at === null;
  return (
    Number(isAssumed(state, isUnreported)) - Number(isAssumed(email, email.delivery_unreported))
  );
}
