import { z } from 'zod';
import { listArmCampaigns, listTemplateCampaigns } from '../../db/campaigns/campaigns.ts';
import { listTemplateSteps } from '../../db/reads/uses/steps.ts';
import { countTemplateEmails, findTemplate } from '../../db/templates/templates.ts';
import { found } from '../../domain/errors.ts';
import { endpoint } from '../http/endpoint.ts';
import { ById } from '../http/schemas.ts';
import { listed, More } from '../http/uses.ts';

export const getTemplateUsage = endpoint({
  id: 'getTemplateUsage',
  method: 'GET',
  path: '/templates/{id}/usage',
  summary: 'List the uses of a template',
  description:
    '`campaigns` includes unfinished ones with the template in an arm of their experiment. ' +
    '`emailsSent` counts the mail from the template that was sent.',
  access: 'secret',
  params: ById,
  response: z.object({
    campaigns: z.array(z.object({ id: z.uuid(), name: z.string(), status: z.string() })),
    workflowSteps: z.array(
      z.object({
        id: z.uuid(),
        name: z.string(),
        workflowId: z.uuid(),
        workflowName: z.string(),
      }),
    ),
    more: More,
    emailsSent: z.int(),
  }),
  problems: ['TEMPLATE_NOT_FOUND'],
  example: {
    response: {
      campaigns: [
        { id: '7a9e4c1d-5b0e-4c51-8a27-2f6e1b3c4d05', name: 'Spring sale', status: 'DRAFT' },
      ],
      workflowSteps: [
        {
          id: 'aa000000-0000-4000-8000-000000000002',
          name: 'Say hello',
          workflowId: 'bb000000-0000-4000-8000-000000000001',
          workflowName: 'Onboarding',
        },
      ],
      emailsSent: 128,
    },
  },
  async handle({ db, caller: { projectId }, params: { id } }) {
    found('TEMPLATE', id, await findTemplate(db, projectId, id));
    const campaigns = await listTemplateCampaigns(db, projectId, id);
    const known = new Set(campaigns.map((campaign) => campaign.id));
    const tested = await listArmCampaigns(db, projectId, [id]);
    return {
      ...listed({
        campaigns: [...campaigns, ...tested.filter((campaign) => !known.has(campaign.id))],
        workflowSteps: await listTemplateSteps(db, projectId, [id]),
      }),
      emailsSent: await countTemplateEmails(db, projectId, id),
    };
  },
});
