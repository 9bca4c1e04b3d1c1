import type { z } from 'zod';
import { getDelivery } from '../../delivery/delivery.ts';
import { type Html, html } from '../../html/html.ts';
import { ask, type MemberCall } from '../ask.ts';
import { count, figures, moment, section } from '../parts.ts';

type LimitedBy = z.output<typeof getDelivery.response>['limitedBy'];

const limits: Record<Exclude<LimitedBy, null>, string> = {
  project_rate: 'limit of the project',
  server_rate: 'limit of the server',
  campaign_rate: 'throttle of the campaign',
  provider: 'mail provider',
  no_worker: 'no worker runs',
};

export function limitWords(limitedBy: LimitedBy): string {
  return limitedBy === null ? 'nothing' : limits[limitedBy];
}

function sumOf(numbers: readonly (number | undefined)[]): number {
  return numbers.reduce<number>((sum, number) => sum + (number ?? 0), 0);
}

export async function deliverySection(call: MemberCall): Promise<Html> {
  const { due, oldestDueAt, sending, unknown, held, perSecond, limitedBy, workers } = await ask(
    call,
    getDelivery,
  );
  return section(
    'Delivery',
    figures([
      ['Due', count(due)],
      ['Sending', count(sending)],
      ['Not due yet', count(sumOf(Object.values(held)))],
      ['Unknown', count(unknown)],
      ['Emails/s', perSecond],
      ['Limited by', limitWords(limitedBy)],
      ['Workers', workers],
    ]),
    oldestDueAt && html`<span class="soft">oldest due ${moment(oldestDueAt)}</span>`,
  );
}
