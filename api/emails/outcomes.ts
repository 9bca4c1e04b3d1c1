import { z } from 'zod';
import type { outcomes } from '../../domain/outcomes/outcome.ts';
import { ReasonCode } from './record.ts';

/** Counts of messages by outcome, reason and event, and the rates between them. */

export const Outcomes = z.object({
  sent: z.int().describe('Accepted by the provider, whatever followed'),
  failed: z.int().describe('Refused by the provider'),
  withheld: z.int().describe('Will not be sent'),
  held: z.int().describe('Held back by the send policy'),
  pending: z.int().describe('Still to be sent'),
  unknown: z.int().describe('Possibly accepted: the outcome is unknown'),
} satisfies Record<(typeof outcomes)[number], z.ZodInt>);

export const Reasons = z
  .partialRecord(ReasonCode, z.int())
  .describe('Number of those that were not sent, by reason; reasons without any are absent');

const Percent = z.number().describe('Percent of sentCount; 0 when nothing was sent');

/** The counts and rates of a campaign or a template. */
export const mailCounts = {
  sentCount: z.int().describe('Accepted by the provider'),
  deliveredCount: z.int().describe('Reported as delivered'),
  assumedDeliveredCount: z
    .int()
    .optional()
    .describe(
      'Accepted by SMTP, which reports no deliveries, and not bounced; absent if no mail went ' +
        'that way',
    ),
  deliveryBasis: z
    .enum(['assumed', 'mixed'])
    .optional()
    .describe('Absent if assumedDeliveredCount is. mixed: some deliveries were reported'),
  openedCount: z.int(),
  clickedCount: z.int(),
  bouncedCount: z.int(),
  complainedCount: z.int(),
  unsubscribedCount: z.int(),
};

export const mailRates = {
  deliveryRate: Percent.describe(
    'The percentage of deliveredCount and assumedDeliveredCount together',
  ),
  openRate: Percent,
  clickRate: Percent,
  bounceRate: Percent,
  complaintRate: Percent,
  unsubscribeRate: Percent,
};

export const percentOf = (count: number, all: number) => (all === 0 ? 0 : (count / all) * 100);

/**
 * Returns the counts of deliveries.
 * @param given.unreported messages accepted by a provider that reports no deliveries
 * @param given.assumed the `unreported` messages without a report of a delivery or bounce
 */
export function deliveryCounts(given: { delivered: number; unreported: number; assumed: number }) {
  const { delivered: deliveredCount, unreported, assumed: assumedDeliveredCount } = given;
  if (unreported === 0) return { deliveredCount };
  const deliveryBasis = deliveredCount > 0 ? ('mixed' as const) : ('assumed' as const);
  return { deliveredCount, assumedDeliveredCount, deliveryBasis };
}

type Counts = z.output<z.ZodObject<typeof mailCounts>>;

/** Returns the counts with their rates. */
export function withRates<Given extends Counts>(counts: Given) {
  const rate = (count: number) => percentOf(count, counts.sentCount);
  return {
    ...counts,
    deliveryRate: rate(counts.deliveredCount + (counts.assumedDeliveredCount ?? 0)),
    openRate: rate(counts.openedCount),
    clickRate: rate(counts.clickedCount),
    bounceRate: rate(counts.bouncedCount),
    complaintRate: rate(counts.complainedCount),
    unsubscribeRate: rate(counts.unsubscribedCount),
  };
}

/** Opens and clicks in statistics: by people, and by machines. */
export const humanCounts = {
  humanOpenedCount: z.int().describe('Mail with an open by a person'),
  machineOpenedCount: z.int().describe('Mail with opens by machines alone'),
  humanClickedCount: z.int().describe('Mail with a click by a person'),
  machineClickedCount: z.int().describe('Mail with clicks by machines alone'),
  humanOpenRate: z.number().describe('Percent of sentCount'),
  humanClickRate: z.number().describe('Percent of sentCount'),
};

/** Presents counts of mail that people, or only machines, have opened and clicked. */
export function presentHumans(
  counts: {
    humanOpened: number;
    machineOpened: number;
    humanClicked: number;
    machineClicked: number;
  },
  sentCount: number,
) {
  return {
    humanOpenedCount: counts.humanOpened,
    machineOpenedCount: counts.machineOpened,
    humanClickedCount: counts.humanClicked,
    machineClickedCount: counts.machineClicked,
    humanOpenRate: percentOf(counts.humanOpened, sentCount),
    humanClickRate: percentOf(counts.humanClicked, sentCount),
  };
}
