import type { z } from 'zod';
import type { getCampaign } from '../../../campaigns/campaigns.ts';
import { decideExperiment, getExperiment } from '../../../campaigns/experiment/experiment.ts';
import { type Html, html } from '../../../html/html.ts';
import { ask, type MemberCall } from '../../ask.ts';
import { type PageContext, projectAct } from '../../page.ts';
import { actForm, actorText, count, moment, section, state, table } from '../../parts.ts';

/** The experiment of a campaign: its arms with their results, and the decision. */

type Campaign = z.output<typeof getCampaign.response>;
type Experiment = z.output<typeof getExperiment.response>;

/** Returns the section of a campaign's page; null: the campaign has no experiment. */
export async function experimentSection(
  call: MemberCall,
  { id, experiment: settings }: Campaign,
  { token, path }: Pick<PageContext, 'token' | 'path'>,
): Promise<Html | null> {
  if (!settings) return null;
  const experiment = await ask(call, getExperiment, { params: { id } });
  const isOpen = experiment.state === 'TESTING' || experiment.state === 'WAITING';
  const deciding = (arm: string) =>
    isOpen &&
    actForm(token, {
      action: path(`/campaigns/${id}/experiment/decide`),
      label: 'Decide',
      fields: { arm },
    });
  return section(
    'Experiment',
    html`<p>${state(experiment.state)} ${decisionText(experiment)}</p>
      ${table(
        ['Arm', 'Sent#', 'Opened#', 'Clicked#', 'Rate#', 'Chance to be best#', ''],
        experiment.arms.map((arm) => [
          arm.name === null ? arm.id : `${arm.id}: ${arm.name}`,
          count(arm.sent),
          count(arm.humanOpened),
          count(arm.humanClicked),
          percent(arm.rate),
          percent(arm.probabilityBest),
          deciding(arm.id),
        ]),
        '',
      )}`,
  );
}

function percent(value: number): string {
  return `${Math.round(value * 10) / 10} %`;
}

function decisionText({ decision, decideAt, restRecipients }: Experiment): Html {
  if (!decision) {
    return html`${count(restRecipients)} recipients wait for the
    decision${decideAt !== null && html`, which is due at ${moment(decideAt)}`}.`;
  }
  const { arm, by, decidedAt, actor, numbers } = decision;
  const rates = numbers.map(({ id, rate }) => `${id} ${percent(rate)}`).join(', ');
  return html`Arm ${arm} was chosen at ${moment(decidedAt)}
  ${decisionReasons[by]}${actor && html`, ${actorText(actor)}`}. Rates at that time: ${rates}.`;
}

const decisionReasons = {
  metric: 'by its rate',
  too_few: 'as the first one, because an arm had too few mails',
  tie: 'as the first one, because no arm was clearly the best',
  manual: 'by a person or key',
} as const;

export const experimentPages = [
  projectAct({
    path: '/campaigns/{id}/experiment/decide',
    does: decideExperiment,
    async act(call, form) {
      const { id = '' } = call.params;
      const arm = form.get('arm') ?? '';
      await ask(call, decideExperiment, { params: { id }, body: { arm } });
      return { to: `/campaigns/${id}`, done: 'decided' };
    },
  }),
];
