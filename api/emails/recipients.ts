import { z } from 'zod';
import type { Database } from '../../db/database.ts';
import type { LeftOutContact } from '../../db/reads/recipients/left-out.ts';
import {
  listRecipients,
  type RecipientPage,
  type RecipientRow,
  type RecipientScope,
} from '../../db/reads/recipients/recipients.ts';
import { type LeftOutReason, leftOutReasons } from '../../domain/campaign/campaign.ts';
import { type CursorForm, encodeCursor } from '../../domain/cursor.ts';
import { limits } from '../../domain/limits.ts';
import { outcomeOf, outcomes } from '../../domain/outcomes/outcome.ts';
import { recipientOutcomes } from '../../domain/outcomes/selection.ts';
import { cursorListOf, cursorQuery, named, Time, time } from '../http/schemas.ts';
import { EmailSummary, ReasonCode } from './record.ts';

/** Lists the recipients of a campaign, a template or a step. */

const Recipient = named('Recipient', {
  contact: z.object({ id: EmailSummary.shape.contactId, email: EmailSummary.shape.toEmail }),
  emailId: z.uuid().nullable().describe('null: left out, so there is no mail'),
  executionId: z.uuid().nullable().describe('The execution whose step sent it; null: no step did'),
  outcome: z.enum(outcomes).nullable().describe('null: left out'),
  reasonCode: z
    .enum([...ReasonCode.options, ...leftOutReasons])
    .nullable()
    .describe('Why it was not sent; null: it was sent'),
  error: z.string().nullable().describe("The provider's text, if it failed or is unknown"),
  arm: z.string().nullable().describe('Its arm in an experiment; null: none, or not decided yet'),
  inTest: z.boolean().describe('True if it belongs to the test group of an experiment'),
  opens: z.int(),
  clicks: z.int(),
  sentAt: Time.nullable(),
  deliveredAt: Time.nullable(),
  bouncedAt: Time.nullable(),
  openedAt: Time.nullable(),
  clickedAt: Time.nullable(),
  humanOpenedAt: Time.nullable().describe('The first open by a person'),
  humanClickedAt: Time.nullable().describe('The first click by a person'),
  link: z
    .object({ clicks: z.int(), humanClicks: z.int(), firstAt: Time })
    .optional()
    .describe('The clicks on the link of the query `link`'),
  convertedAt: Time.nullable().describe('Time of the first event that was the goal'),
});

export const RecipientList = cursorListOf(Recipient);

const newestFirst: CursorForm = { order: 'recipients', value: 'time' };

export const recipientQuery = cursorQuery(newestFirst).extend({
  outcome: z
    .enum(recipientOutcomes)
    .optional()
    .describe('An outcome, or an event of mail that was sent'),
  reason: z
    .enum([...ReasonCode.options, ...leftOutReasons])
    .optional()
    .describe(
      'A reasonCode. Contacts that a campaign has left out are listed only by their reason',
    ),
  search: z
    .string()
    .min(1)
    .max(limits.searchChars)
    .optional()
    .describe('Part of the address of the contact, in any case'),
  link: z
    .string()
    .min(1)
    .max(limits.linkIdChars)
    .optional()
    .describe('A linkId: only mail in which this link was clicked'),
});

export const recipientsDescription =
  'A cursor list, newest mail first. All filters must hold. If few of very many mails match, a ' +
  'page can have fewer items than `limit`, or none, although `hasMore` is true. `total` counts ' +
  'all matches on the first page and is 0 on later ones.';

export const recipientExample = {
  response: {
    data: [
      {
        contact: { id: '5b0f6d58-2f0e-4a65-9a55-0d7a5a0c1c11', email: 'ada@shop.example' },
        emailId: 'c4b6d7c2-93cf-4e0a-8b1b-0a6f1f5f3e21',
        executionId: null,
        outcome: 'failed' as const,
        reasonCode: 'recipient_refused' as const,
        error: '550 5.1.1 No such user',
        arm: null,
        inTest: false,
        opens: 0,
        clicks: 0,
        sentAt: null,
        deliveredAt: null,
        bouncedAt: null,
        openedAt: null,
        clickedAt: null,
        convertedAt: null,
        humanOpenedAt: null,
        humanClickedAt: null,
      },
    ],
    hasMore: false,
    total: 1,
  },
};

const none = { rows: [], next: null, total: 0 };

/**
 * Returns the recipients that match a query.
 * @param leftOut lists the contacts that a campaign has left out; null: no contact can be left out
 */
export async function answerRecipients(
  db: Database,
  scope: RecipientScope,
  query: z.output<typeof recipientQuery> & { arm?: string | undefined },
  leftOut:
    | ((reason: LeftOutReason, page: Parameters<typeof listRecipients>[3]) => LeftOutPage)
    | null = null,
): Promise<z.input<typeof RecipientList>> {
  const { limit, cursor: after, reason, outcome, search, link, arm } = query;
  const page = { after, limit };
  if (!isLeftOutReason(reason)) {
    const filter = { outcome, reason, search, link, arm };
    return presentList(await listRecipients(db, scope, filter, page), presentRecipient);
  }
  // Contacts that were left out have no outcome, no arm and no clicks.
  const canBeLeftOut = [outcome, link, arm].every((filter) => filter === undefined);
  const listed = leftOut && canBeLeftOut ? await leftOut(reason, page) : none;
  return presentList(listed, (row) => presentLeftOut(row, reason));
}

type LeftOutPage = Promise<RecipientPage<LeftOutContact>>;

function presentList<Row>(
  { rows, next, total }: RecipientPage<Row>,
  present: (row: Row) => z.input<typeof Recipient>,
): z.input<typeof RecipientList> {
  return {
    data: rows.map(present),
    ...(next && { cursor: encodeCursor(newestFirst, next) }),
    hasMore: next !== null,
    total,
  };
}

function presentRecipient(row: RecipientRow): z.input<typeof Recipient> {
  const judged = outcomeOf(row, new Date());
  const { outcome, reasonCode } = judged;
  const hasText = (outcome === 'failed' || outcome === 'unknown') && row.error !== reasonCode;
  return {
    contact: { id: row.contact_id, email: row.address },
    emailId: row.id,
    executionId: row.workflow_execution_id,
    ...judged,
    error: hasText ? row.error : null,
    arm: row.arm,
    inTest: row.is_in_test,
    opens: row.opens,
    clicks: row.clicks,
    sentAt: time(row.sent_at),
    deliveredAt: time(row.delivered_at),
    bouncedAt: time(row.bounced_at),
    openedAt: time(row.opened_at),
    clickedAt: time(row.clicked_at),
    humanOpenedAt: time(row.human_opened_at),
    humanClickedAt: time(row.human_clicked_at),
    ...(row.link && { link: { ...row.link, firstAt: time(new Date(row.link.firstAt)) } }),
    convertedAt: time(row.converted_at),
  };
}

/** Presents a contact of the audience without a mail. */
function presentLeftOut(
  { id, email }: LeftOutContact,
  reasonCode: LeftOutReason,
): z.input<typeof Recipient> {
  const never = {
    sentAt: null,
    deliveredAt: null,
    bouncedAt: null,
    openedAt: null,
    clickedAt: null,
    convertedAt: null,
    humanOpenedAt: null,
    humanClickedAt: null,
  };
  return {
    contact: { id, email },
    emailId: null,
    executionId: null,
    outcome: null,
    reasonCode,
    error: null,
    arm: null,
    inTest: false,
    opens: 0,
    clicks: 0,
    ...never,
  };
}

function isLeftOutReason(reason: string | undefined): reason is LeftOutReason {
  return leftOutReasons.some((one) => one === reason);
}
