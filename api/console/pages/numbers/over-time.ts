import type { z } from 'zod';
import { getSeries } from '../../../activity/series.ts';
import { getCampaign } from '../../../campaigns/campaigns.ts';
import { type Html, html } from '../../../html/html.ts';
import { getTemplate } from '../../../templates/templates.ts';
import { getWorkflow } from '../../../workflows/workflows.ts';
import { ask, type MemberCall } from '../../ask.ts';
import { projectPage } from '../../page.ts';
import { count, heading, moment, section, table } from '../../parts.ts';

/** Pages with the counts of a campaign, a template or a workflow over time. */

type Point = z.output<typeof getSeries.response>['points'][number];

/** The lines of the chart, with the names of their CSS classes. */
const lines = [
  ['sent', 'Sent'],
  ['opens', 'Opened'],
  ['clicks', 'Clicked'],
] as const satisfies (readonly [keyof Point, string])[];

const columns = [
  ...lines,
  ['humanOpens', 'Opened by people'],
  ['humanClicks', 'Clicked by people'],
  ['delivered', 'Delivered'],
  ['bounces', 'Bounced'],
  ['complaints', 'Complaints'],
  ['unsubscribes', 'Unsubscribed'],
] as const satisfies (readonly [keyof Point, string])[];

const intervals = ['day', 'hour', 'minute'] as const;

/** Declares the page of one kind of owner. */
function overTimePage(owner: {
  id: string;
  at: string;
  name: string;
  parameter: 'campaignId' | 'templateId' | 'workflowId';
  nameOf: (call: MemberCall, id: string) => Promise<string>;
}) {
  return projectPage({
    id: owner.id,
    path: `${owner.at}/{id}/over-time`,
    at: owner.at,
    summary: `The numbers of a ${owner.name} by day, hour or minute`,
    async show({ call, path }) {
      const { id = '' } = call.params;
      const interval = intervals.find((one) => one === call.query['interval']) ?? 'day';
      const name = await owner.nameOf(call, id);
      const { points, timeZone } = await ask(call, getSeries, {
        query: { interval, [owner.parameter]: id },
      });
      const choices = intervals.map((one) =>
        one === interval
          ? html`<b>By ${one}</b> `
          : html`<a href="?interval=${one}">By ${one}</a> `,
      );
      return {
        title: `${name} over time`,
        content: html`${heading(`${name} over time`)}
          <p><a href="${path(`${owner.at}/${id}`)}">Back to the ${owner.name}</a></p>
          ${section(`Time zone ${timeZone}`, html`${chart(points)}${pointTable(points)}`, html`<span class="acts">${choices}</span>`)}`,
      };
    },
  });
}

const height = 100;

/**
 * Draws the lines as an SVG. The SVG contains no text, because it is stretched to the width of the
 * page.
 */
function chart(points: readonly Point[]): Html | null {
  if (points.length < 2) return null;
  const highest = Math.max(1, ...points.flatMap((point) => lines.map(([kind]) => point[kind])));
  const drawn = lines.map(([kind]) => {
    const line = points.map(
      (point, index) => `${index},${height - (point[kind] / highest) * height}`,
    );
    return html`<polyline class="${kind}" points="${line.join(' ')}" />`;
  });
  const legend = lines.map(([kind, name]) => html`<li class="${kind}">${name}</li> `);
  return html`<svg
      class="chart"
      viewBox="0 -2 ${points.length - 1} ${height + 4}"
      preserveAspectRatio="none"
      role="img"
      aria-label="Sent, opened and clicked mail; the highest number is ${count(highest)}"
    >
      ${drawn}
    </svg>
    <ul class="legend">
      ${legend}
      <li>highest: ${count(highest)}</li>
    </ul>`;
}

/** Lists the points with counts above 0, newest first. */
function pointTable(points: readonly Point[]): Html {
  const rows = points.filter((point) => columns.some(([kind]) => point[kind] !== 0)).toReversed();
  return table(
    ['From (UTC)', ...columns.map(([, name]) => `${name}#`)],
    rows.map((point) => [moment(point.at), ...columns.map(([kind]) => count(point[kind]))]),
    'Nothing has happened in this time.',
  );
}

export const overTimePages = [
  overTimePage({
    id: 'showCampaignOverTime',
    at: '/campaigns',
    name: 'campaign',
    parameter: 'campaignId',
    nameOf: async (call, id) => (await ask(call, getCampaign, { params: { id } })).name,
  }),
  overTimePage({
    id: 'showTemplateOverTime',
    at: '/templates',
    name: 'template',
    parameter: 'templateId',
    nameOf: async (call, id) => (await ask(call, getTemplate, { params: { id } })).name,
  }),
  overTimePage({
    id: 'showWorkflowOverTime',
    at: '/workflows',
    name: 'workflow',
    parameter: 'workflowId',
    nameOf: async (call, id) => (await ask(call, getWorkflow, { params: { id } })).name,
  }),
];
