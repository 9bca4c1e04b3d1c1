import { listCampaigns } from '../../campaigns/campaigns.ts';
import { listTemplates } from '../../templates/templates.ts';
import { listWorkflows } from '../../workflows/workflows.ts';
import { ask } from '../ask.ts';
import { html } from '../../html/html.ts';
import type { PageContext, ShownPage } from '../page.ts';
import { heading, section } from '../parts.ts';
import { campaignTable } from './campaigns.ts';
import { deliverySection } from './delivery.ts';
import { failureTable, listFailures } from './failures.ts';
import { templateTable } from './templates.ts';
import { workflowTable } from './workflows.ts';

/** Query of each list on the overview: the first 8 items. */
const shown = { page: '1', pageSize: '8' };

/** The first page: problems that need an operator, and links to all other pages. */
export async function showOverview({ call, project, path }: PageContext): Promise<ShownPage> {
  const [failures, delivery, workflows, campaigns, templates] = await Promise.all([
    listFailures(call),
    deliverySection(call),
    ask(call, listWorkflows, { query: shown }),
    ask(call, listCampaigns, { query: shown }),
    ask(call, listTemplates, { query: shown }),
  ]);
  const all = (name: string) => html`<a href="${path(name)}">All</a>`;
  return {
    title: 'Overview',
    content: html`${heading(project.name)}
      ${section('Failures', failureTable(failures, path), all('/failures'))} ${delivery}
      <div class="columns">
        ${section('Workflows', workflowTable(workflows.data, path), all('/workflows'))}
        ${section('Campaigns', campaignTable(campaigns.data, path), all('/campaigns'))}
        ${section('Templates', templateTable(templates.data, path), all('/templates'))}
      </div>`,
  };
}
