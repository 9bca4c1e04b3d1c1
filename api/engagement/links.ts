import { z } from 'zod';
import { type CampaignRow, findCampaign } from '../../db/campaigns/campaigns.ts';
import { listClickedLinks } from '../../db/engagement/links.ts';
import { findTemplate } from '../../db/templates/templates.ts';
import { found } from '../../domain/errors.ts';
import {
  type ListedLink,
  listLinks,
  mergeContents,
  otherLinkId,
} from '../../domain/links/link-list.ts';
import { limits } from '../../domain/limits.ts';
import { type Call, endpoint } from '../http/endpoint.ts';
import { ById, named, Time, time, Uuid } from '../http/schemas.ts';
import { WorkflowById } from '../workflows/graph/record.ts';
import { findStepOfAnyVersion } from '../workflows/step-recipients.ts';

/** The links of a campaign, a template or a step, with their clicks. */

const Link = named('Link', {
  linkId: z
    .string()
    .describe(`Made from the address, so it is the same in all contents. ${otherLinkId}: the rest`),
  url: z
    .string()
    .nullable()
    .describe(
      'The address as its author wrote it, with variables. null: the rest, or a link from data ' +
        'whose clicks were all in mail that is deleted',
    ),
  positions: z
    .array(z.int())
    .describe('Its positions among the tracked links of the content, from 1 on; empty: not in it'),
  clicks: z.int(),
  emails: z.int().describe('Mails in which it was clicked'),
  humanClicks: z.int().describe('Clicks by people'),
  humanEmails: z.int().describe('Mails in which a person clicked it'),
  machineClicks: z.int().describe('Clicks by machines, such as scanners'),
  firstAt: Time.nullable().describe('Time of the first click'),
  lastAt: Time.nullable(),
});

const LinkList = named('LinkList', { links: z.array(Link) });

const description =
  'All tracked links of the content, also those that were never clicked, and all links that were ' +
  'clicked. Those that most people clicked come first. A click is counted once its verdict is ' +
  `known, after some seconds. There are at most ${limits.linksMax} links; the rest is one item ` +
  `with the linkId \`${otherLinkId}\`.`;

const example = {
  response: {
    links: [
      {
        linkId: '5d1f0c8a97b3e642',
        url: 'https://shop.example/sale?u={{id}}',
        positions: [1, 3],
        clicks: 42,
        emails: 30,
        humanClicks: 29,
        humanEmails: 27,
        machineClicks: 12,
        firstAt: '2026-12-01T08:02:11.000Z',
        lastAt: '2026-12-03T19:40:00.000Z',
      },
      {
        linkId: '0b7e6d21c4f9a853',
        url: 'https://shop.example/imprint',
        positions: [2],
        clicks: 0,
        emails: 0,
        humanClicks: 0,
        humanEmails: 0,
        machineClicks: 0,
        firstAt: null,
        lastAt: null,
      },
    ],
  },
};

export const listCampaignLinks = endpoint({
  id: 'listCampaignLinks',
  method: 'GET',
  path: '/campaigns/{id}/links',
  summary: 'List the links of a campaign with their clicks',
  description:
    `${description} Of an experiment they are the links of all arms, with their positions in any ` +
    'of them. It is empty before the audience is fixed. CAMPAIGN_NOT_FOUND: the project has no ' +
    'such campaign.',
  access: 'secret',
  params: ById,
  response: LinkList,
  problems: ['CAMPAIGN_NOT_FOUND'],
  example,
  async handle(call) {
    const { id } = call.params;
    const campaign = found('CAMPAIGN', id, await findCampaign(call.db, call.caller.projectId, id));
    return answerLinks(call, id, campaign.frozen_at ? bodiesOf(campaign) : []);
  },
});

export const listTemplateLinks = endpoint({
  id: 'listTemplateLinks',
  method: 'GET',
  path: '/templates/{id}/links',
  summary: 'List the links of a template with their clicks',
  description: `${description} TEMPLATE_NOT_FOUND: there is no such template in the project.`,
  access: 'secret',
  params: ById,
  response: LinkList,
  problems: ['TEMPLATE_NOT_FOUND'],
  example,
  async handle(call) {
    const { id } = call.params;
    const template = found('TEMPLATE', id, await findTemplate(call.db, call.caller.projectId, id));
    return answerLinks(call, id, [template.body]);
  },
});

export const listStepLinks = endpoint({
  id: 'listStepLinks',
  method: 'GET',
  path: '/workflows/{id}/steps/{stepId}/links',
  summary: 'List the links in the mail of a step with their clicks',
  description:
    `${description} The content is the template that the newest version of the workflow names. ` +
    'The step may be of any version. WORKFLOW_NOT_FOUND, STEP_NOT_FOUND: the project has no such ' +
    'workflow, or none of its versions has the step.',
  access: 'secret',
  params: WorkflowById.extend({ stepId: Uuid }),
  response: LinkList,
  problems: ['WORKFLOW_NOT_FOUND', 'STEP_NOT_FOUND'],
  example,
  async handle(call) {
    const { projectId } = call.caller;
    const { id, stepId } = call.params;
    const step = await findStepOfAnyVersion(call.db, projectId, { id, stepId });
    const template = step?.templateId && (await findTemplate(call.db, projectId, step.templateId));
    return answerLinks(call, stepId, template ? [template.body] : []);
  },
});

/** Returns the different bodies of a campaign: with an experiment, the bodies of its arms. */
function bodiesOf({ body, experiment }: CampaignRow): string[] {
  const bodies = experiment ? experiment.arms.map((arm) => arm.body ?? body) : [body];
  return [...new Set(bodies)];
}

/**
 * Returns the links of a campaign, a template or a step.
 * @param sources the bodies of the mail; empty: no body is known
 */
async function answerLinks(
  {
    db,
    renderer,
    caller,
  }: Pick<Call<'secret', unknown, unknown, unknown>, 'db' | 'renderer' | 'caller'>,
  ownerId: string,
  sources: readonly string[],
): Promise<z.input<typeof LinkList>> {
  const contents = await Promise.all(
    sources.map((source) => renderer.links(source, caller.projectId)),
  );
  return {
    links: listLinks(mergeContents(contents), await listClickedLinks(db, ownerId)).map(present),
  };
}

function present({ firstAt, lastAt, positions, ...link }: ListedLink): z.input<typeof Link> {
  return { ...link, positions: [...positions], firstAt: time(firstAt), lastAt: time(lastAt) };
}
