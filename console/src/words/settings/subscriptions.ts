import type { EventDelivery, EventSubscription } from '../../api/api.ts';
import { fullTime } from '../times.ts';
import type { Tone } from '../tone.ts';

type Shown = Pick<
  EventSubscription,
  'enabled' | 'disabledReason' | 'paused' | 'failingSince' | 'url' | 'description'
>;

/** The name of a subscription: its description, or the host of its address. */
export const subscriptionName = ({
  description,
  url,
}: Pick<Shown, 'description' | 'url'>): string => description || new URL(url).host;

const disabledReasons: Record<NonNullable<EventSubscription['disabledReason']>, string> = {
  requested: 'It was disabled by hand.',
  gone: 'The receiver answered that the address is gone (410).',
  failing: 'Its requests had failed for days.',
};

/** The state of a subscription in words, with the reason. */
export function subscriptionState({ enabled, disabledReason, paused, failingSince }: Shown): {
  text: string;
  tone: Tone;
  why: string;
} {
  if (!enabled) {
    const why = disabledReason ? disabledReasons[disabledReason] : '';
    return { text: 'Disabled', tone: 'bad', why: `${why} Events get no delivery.`.trim() };
  }
  if (paused) return { text: 'Paused', tone: 'warning', why: 'Deliveries wait.' };
  if (failingSince !== null) {
    const why = `Its requests have failed since ${fullTime(failingSince)}. They are tried again.`;
    return { text: 'Failing', tone: 'bad', why };
  }
  return { text: 'Enabled', tone: 'good', why: '' };
}

/** States of deliveries in words. */
export const deliveryStates: Record<EventDelivery['status'], { text: string; tone: Tone }> = {
  pending: { text: 'Waits', tone: 'neutral' },
  delivered: { text: 'Delivered', tone: 'good' },
  failed: { text: 'Failed', tone: 'bad' },
  skipped: { text: 'Skipped', tone: 'warning' },
};

/** Why a delivery was skipped, one sentence per code. */
export const skipReasons: Record<NonNullable<EventDelivery['reason']>, string> = {
  disabled: 'The subscription was disabled.',
  contact_deleted: 'Its contact was deleted.',
  event_deleted: 'Its event was deleted.',
  expired: 'It had waited for 30 days.',
};

type AttemptError = NonNullable<EventDelivery['attempts'][number]['error']>;

const attemptErrors: Record<AttemptError, string> = {
  timeout: 'The receiver did not answer in time.',
  unreachable: 'The receiver could not be reached.',
  address_refused: 'The address is in a private network, which this server does not call.',
  secret_refused: 'A secret in its headers is missing, or is not for this host.',
};

/** The result of a request to a receiver, in words. */
export function attemptText(result: { statusCode: number | null; error: string | null }): string {
  if (result.statusCode !== null) return `Answered ${result.statusCode}`;
  const { error } = result;
  return error === null ? '' : (attemptErrors[error as AttemptError] ?? `Error: ${error}.`);
}
