import { z } from 'zod';
import { countTemplateMail } from '../../db/reads/recipients/template-mail.ts';
import { findTemplate } from '../../db/templates/templates.ts';
import { found } from '../../domain/errors.ts';
import { limits } from '../../domain/limits.ts';
import { rangeQuery } from '../activity/date-range.ts';
import {
  deliveryCounts,
  humanCounts,
  mailCounts,
  mailRates,
  Outcomes,
  percentOf,
  presentHumans,
  Reasons,
  withRates,
} from '../emails/outcomes.ts';
import {
  answerRecipients,
  recipientExample,
  RecipientList,
  recipientQuery,
  recipientsDescription,
} from '../emails/recipients.ts';
import { endpoint } from '../http/endpoint.ts';
import { ById } from '../http/schemas.ts';

/** The mail that was made from a template: its counts and recipients. */

export const getTemplateStats = endpoint({
  id: 'getTemplateStats',
  method: 'GET',
  path: '/templates/{id}/stats',
  summary: 'Count the mail made from a template, by its results',
  description:
    'Counts the stored mail that /v1/send, campaigns and steps have made from the template in the ' +
    'period, both ends included; by default all. `outcomes` add up to ' +
    '`total`, and `reasons` to those that were not sent. Rates are percentages of `sentCount`, ' +
    'not rounded. TEMPLATE_NOT_FOUND: there is no such template in the project. ' +
    `STATS_TOO_HEAVY: a count took longer than ${limits.statsTimeMs / 1000} seconds; ask for a ` +
    'shorter period.',
  access: 'secret',
  wrapped: true,
  params: ById,
  query: rangeQuery({}),
  response: z.object({
    total: z.int(),
    ...mailCounts,
    heldCount: z.int().describe('Mail that the send policy or a ramp holds now'),
    renderedPlainlyCount: z.int().describe('Mail whose template could not be rendered'),
    uncertainCount: z.int().describe('Mail that may or may not have been accepted'),
    outcomes: Outcomes.describe('Mail by outcome: the sum is total'),
    reasons: Reasons,
    reachRate: z.number().describe('Percent of total that was delivered; 0 without mail'),
    ...humanCounts,
    ...mailRates,
  }),
  problems: ['TEMPLATE_NOT_FOUND', 'STATS_TOO_HEAVY'],
  example: {
    response: {
      total: 128,
      sentCount: 125,
      deliveredCount: 120,
      openedCount: 50,
      clickedCount: 10,
      bouncedCount: 5,
      complainedCount: 0,
      unsubscribedCount: 1,
      heldCount: 0,
      renderedPlainlyCount: 0,
      uncertainCount: 0,
      outcomes: { sent: 125, failed: 1, withheld: 2, held: 0, pending: 0, unknown: 0 },
      reasons: { recipient_refused: 1, frequency_cap: 2 },
      reachRate: 93.75,
      humanOpenedCount: 30,
      machineOpenedCount: 12,
      humanClickedCount: 7,
      machineClickedCount: 3,
      humanOpenRate: 24,
      humanClickRate: 5.6,
      deliveryRate: 96,
      openRate: 40,
      clickRate: 8,
      bounceRate: 4,
      complaintRate: 0,
      unsubscribeRate: 0.8,
    },
  },
  async handle({ db, caller: { projectId }, params: { id: templateId }, query }) {
    found('TEMPLATE', templateId, await findTemplate(db, projectId, templateId));
    const mail = await countTemplateMail(db, { projectId, templateId }, query);
    const { total, outcomes, reasons } = mail;
    return withRates({
      total,
      sentCount: mail.sent,
      ...deliveryCounts(mail),
      openedCount: mail.opened,
      clickedCount: mail.clicked,
      bouncedCount: mail.bounced,
      complainedCount: mail.complained,
      unsubscribedCount: mail.unsubscribed,
      heldCount: mail.held,
      renderedPlainlyCount: mail.renderedPlainly,
      uncertainCount: outcomes.unknown,
      outcomes,
      reasons,
      ...presentHumans(mail, mail.sent),
      reachRate: percentOf(mail.delivered + mail.assumed, total),
    });
  },
});

export const listTemplateRecipients = endpoint({
  id: 'listTemplateRecipients',
  method: 'GET',
  path: '/templates/{id}/recipients',
  summary: 'List who was sent a template, an item for each mail',
  description: `${recipientsDescription} TEMPLATE_NOT_FOUND: there is no such template in the project.`,
  access: 'secret',
  params: ById,
  query: recipientQuery,
  response: RecipientList,
  problems: ['TEMPLATE_NOT_FOUND'],
  example: recipientExample,
  async handle({ db, caller: { projectId }, params: { id }, query }) {
    found('TEMPLATE', id, await findTemplate(db, projectId, id));
    return answerRecipients(db, { projectId, column: 'template_id', id }, query);
  },
});
