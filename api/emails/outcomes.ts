import { z } from 'zod';
import type { outcomes } from '../../domain/outcomes/outcome.ts';
import { ReasonCode } from './record.ts';

/** Numbers of messages by outcome, by reason and by event, and the rates between them. */

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
  deliveredCount: z.int(),
  openedCount: z.int(),
  clickedCount: z.int(),
  bouncedCount: z.int(),
  complainedCount: z.int(),
  unsubscribedCount: z.int(),
};

export const mailRates = {
  deliveryRate: Percent,
  openRate: Percent,
  clickRate: Percent,
  bounceRate: Percent,
  complaintRate: Percent,
  unsubscribeRate: Percent,
};

export const percentOf = (count: number, all: number) => (all === 0 ? 0 : (count / all) * 100);

/** Returns the counts with their rates. */
export function withRates<Counts extends Record<keyof typeof mailCounts, number>>(counts: Counts) {
  const rate = (count: number) => percentOf(count, counts.sentCount);
  return {
    ...counts,
    deliveryRate: rate(counts.deliveredCount),
    openRate: rate(counts.openedCount),
    clickRate: rate(counts.clickedCount),
    bounceRate: rate(counts.bouncedCount),
    complaintRate: rate(counts.complainedCount),
    unsubscribeRate: rate(counts.unsubscribedCount),
  };
}
