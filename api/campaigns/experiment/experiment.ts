import { z } from 'zod';
import { type CampaignRow, findCampaign, lockCampaign } from '../../../db/campaigns/campaigns.ts';
import { findExperiment, recordDecision } from '../../../db/campaigns/experiments.ts';
import { withinTime } from '../../../db/bounded.ts';
import { type Database, transact } from '../../../db/database.ts';
import { signalCampaign } from '../../../db/outbox/outbox.ts';
import { holdProject } from '../../../db/projects/projects.ts';
import { countArms } from '../../../db/reads/experiments/arms.ts';
import { found, invalidField, notFound, Problem } from '../../../domain/errors.ts';
import {
  decisionReasons,
  type Experiment,
  experimentStates,
  numbersOf,
  stateOf,
} from '../../../domain/experiment/experiment.ts';
import { limits } from '../../../domain/limits.ts';
import { actorOf } from '../../access/caller.ts';
import { Actor, readActors } from '../../actors/actor.ts';
import { endpoint } from '../../http/endpoint.ts';
import { ById, named, Time, time } from '../../http/schemas.ts';

/** The experiment of a campaign: its results, and its decision. */

const numbers = {
  sent: z.int(),
  hits: z.int().describe('Sent mails that count for the metric'),
  rate: z.number().describe('`hits` as a percentage of `sent`'),
  probabilityBest: z
    .number()
    .describe('Percent: chance that this arm has the highest rate, within two points'),
};

const ExperimentRecord = named('Experiment', {
  state: z.enum(experimentStates),
  decideAt: Time.nullable().describe('null: mail of the test group still waits'),
  testRecipients: z.int(),
  restRecipients: z.int().describe('Recipients who get the arm that wins'),
  arms: z
    .array(
      named('ExperimentArm', {
        id: z.string(),
        name: z.string().nullable(),
        recipients: z.int(),
        sent: numbers.sent,
        delivered: z.int(),
        humanOpened: z.int(),
        humanClicked: z.int(),
        converted: z.int().describe('Mails with an event of the goal'),
        value: z.number().describe('Value of all such events'),
        hits: numbers.hits,
        rate: numbers.rate,
        probabilityBest: numbers.probabilityBest,
      }),
    )
    .describe('The test group, as of now'),
  decision: named('ExperimentDecision', {
    arm: z.string(),
    by: z.enum(decisionReasons),
    decidedAt: Time,
    actor: Actor.nullable().describe('Who has decided; null: the metric, or the time'),
    numbers: z
      .array(named('ArmNumbers', { id: z.string(), ...numbers }))
      .describe('The numbers of the decision; they do not change'),
  }).nullable(),
});

const armExample = {
  id: 'a',
  name: null,
  recipients: 500,
  sent: 500,
  delivered: 498,
  humanOpened: 150,
  humanClicked: 25,
  converted: 0,
  value: 0,
  hits: 25,
  rate: 5,
  probabilityBest: 3.2,
};

const example: z.input<typeof ExperimentRecord> = {
  state: 'DECIDED',
  decideAt: '2026-12-01T12:00:00.000Z',
  testRecipients: 1_000,
  restRecipients: 9_000,
  arms: [
    armExample,
    { ...armExample, id: 'b', humanClicked: 40, hits: 40, rate: 8, probabilityBest: 96.8 },
  ],
  decision: {
    arm: 'b',
    by: 'metric',
    decidedAt: '2026-12-01T12:00:00.000Z',
    actor: null,
    numbers: [
      { id: 'a', sent: 500, hits: 25, rate: 5, probabilityBest: 3.2 },
      { id: 'b', sent: 500, hits: 40, rate: 8, probabilityBest: 96.8 },
    ],
  },
};

type Tested = CampaignRow & { experiment: Experiment };

/**
 * Finds a campaign with an experiment.
 * @throws Problem CAMPAIGN_NOT_FOUND, EXPERIMENT_NOT_FOUND
 */
async function findTested(db: Database, projectId: string, id: string): Promise<Tested> {
  const campaign = found('CAMPAIGN', id, await findCampaign(db, projectId, id));
  return testedBy(campaign);
}

function testedBy(campaign: CampaignRow): Tested {
  const { experiment } = campaign;
  if (!experiment) throw notFound('EXPERIMENT', campaign.id);
  return { ...campaign, experiment };
}

/**
 * Counts the mail of the test group.
 * @throws Problem STATS_TOO_HEAVY
 */
function countTest(db: Database, { id, project_id: projectId, experiment }: Tested) {
  return withinTime(db, { ms: limits.statsTimeMs, problem: 'STATS_TOO_HEAVY' }, (tx) =>
    countArms(tx, { projectId, campaignId: id }, experiment),
  );
}

async function presentTest(
  db: Database,
  campaign: Tested,
): Promise<z.input<typeof ExperimentRecord>> {
  const run = (await findExperiment(db, campaign.id)) ?? null;
  const counted = await countTest(db, campaign);
  const judged = numbersOf(counted);
  const testRecipients = counted.reduce((sum, { recipients }) => sum + recipients, 0);
  const names = new Map(campaign.experiment.arms.map(({ id, name }) => [id, name]));
  const presentActor = await readActors(db, [run?.actor ?? null]);
  return {
    state: stateOf(campaign.status, run),
    decideAt: time(run?.decide_at ?? null),
    testRecipients,
    restRecipients: Math.max(campaign.frozen_count - testRecipients, 0),
    arms: counted.map((arm, index) => ({
      ...arm,
      name: names.get(arm.id) ?? null,
      rate: judged[index]!.rate,
      probabilityBest: judged[index]!.probabilityBest,
    })),
    decision:
      run?.decided_at && run.arm !== null && run.decided_by
        ? {
            arm: run.arm,
            by: run.decided_by,
            decidedAt: run.decided_at.toISOString(),
            actor: presentActor(run.actor),
            numbers: run.numbers ?? [],
          }
        : null,
  };
}

const getExperiment = endpoint({
  id: 'getExperiment',
  method: 'GET',
  path: '/campaigns/{id}/experiment',
  summary: 'Get the numbers and the decision of an experiment',
  description:
    'The state is DRAFT until the campaign begins, TESTING until the decision, WAITING while it ' +
    'waits for a manual decision, then DECIDED; or CANCELLED with its campaign. ' +
    'EXPERIMENT_NOT_FOUND: the campaign has no experiment. STATS_TOO_HEAVY: counting took too long.',
  access: 'secret',
  wrapped: true,
  params: ById,
  response: ExperimentRecord,
  problems: ['CAMPAIGN_NOT_FOUND', 'EXPERIMENT_NOT_FOUND', 'STATS_TOO_HEAVY'],
  example: { response: example },
  async handle({ db, caller: { projectId }, params: { id } }) {
    return presentTest(db, await findTested(db, projectId, id));
  },
});

const decideExperiment = endpoint({
  id: 'decideExperiment',
  method: 'POST',
  path: '/campaigns/{id}/experiment/decide',
  summary: 'Decide an experiment: the rest of the recipients gets this arm',
  description:
    'Possible as soon as the audience is fixed, before or instead of the decision by the metric. ' +
    'If the campaign is paused, the rest is sent when it resumes. EXPERIMENT_NOT_RUNNING: the ' +
    'campaign has not begun, or was cancelled; or `details.state` is TESTING, and its audience is ' +
    'still being fixed: try again shortly. EXPERIMENT_DECIDED: it was decided before, for the arm ' +
    'in `details.arm`.',
  access: 'secret',
  wrapped: true,
  bodyBytesMax: limits.contentBodyBytes,
  params: ById,
  body: z.object({ arm: z.string().describe('Id of an arm') }),
  response: ExperimentRecord,
  problems: [
    'CAMPAIGN_NOT_FOUND',
    'EXPERIMENT_NOT_FOUND',
    'EXPERIMENT_NOT_RUNNING',
    'EXPERIMENT_DECIDED',
    'STATS_TOO_HEAVY',
  ],
  example: {
    body: { arm: 'b' },
    response: { ...example, decision: { ...example.decision!, by: 'manual' } },
  },
  async check({ db, caller: { projectId }, params: { id }, body: { arm } }) {
    const { experiment } = await findTested(db, projectId, id);
    if (arm !== undefined) requireArm(experiment, arm);
  },
  async handle({ db, caller, params: { id }, body: { arm }, note }) {
    const { projectId } = caller;
    const before = await findTested(db, projectId, id);
    await requireUndecided(db, before);
    // Counted before the campaign is locked, because feedback on the campaign's mail waits for this
    // lock.
    const judged = numbersOf(await countTest(db, before));
    await transact(db, async (tx) => {
      await holdProject(tx, projectId);
      const campaign = testedBy(found('CAMPAIGN', id, await lockCampaign(tx, projectId, id)));
      await requireUndecided(tx, campaign);
      const decision = { arm, by: 'manual', actor: actorOf(caller), numbers: judged } as const;
      await recordDecision(tx, id, decision);
      const target = { type: 'campaign', id };
      await note({ event: 'campaign.experiment_decided', projectId, target, details: { arm } }, tx);
      await signalCampaign(tx, campaign);
    });
    return presentTest(db, await findTested(db, projectId, id));
  },
});

/**
 * Requires that an experiment has an arm.
 * @throws Problem VALIDATION_ERROR
 */
export function requireArm(experiment: Experiment | null, arm: string) {
  const known = experiment?.arms.find(({ id }) => id === arm);
  if (known) return known;
  const ids = (experiment?.arms ?? []).map(({ id }) => id).join(', ');
  const message =
    ids === ''
      ? 'The campaign has no experiment, so it has no arms. Leave `arm` out.'
      : `Must be one of the arms: ${ids}.`;
  throw invalidField('arm', 'invalid_enum_value', message, arm);
}

/**
 * Requires an experiment that is running and not decided.
 * @throws Problem EXPERIMENT_NOT_RUNNING, EXPERIMENT_DECIDED
 */
async function requireUndecided(db: Database, campaign: Tested): Promise<void> {
  const { id, status, audience_fixed: isFixed } = campaign;
  const run = (await findExperiment(db, id)) ?? null;
  const state = stateOf(status, run);
  if (state === 'DECIDED') {
    const details = { arm: run?.arm, decidedAt: time(run?.decided_at ?? null) };
    throw new Problem('EXPERIMENT_DECIDED', { details });
  }
  if (state === 'DRAFT' || state === 'CANCELLED') {
    const message =
      state === 'DRAFT' ? 'The experiment has not begun.' : 'The campaign was cancelled.';
    throw new Problem('EXPERIMENT_NOT_RUNNING', { message, details: { state } });
  }
  // Before the audience is fixed, the test group is not complete.
  if (!isFixed) {
    throw new Problem('EXPERIMENT_NOT_RUNNING', {
      message: 'The recipients are still being collected, so the test group is not complete.',
      suggestion: 'Try again in a few seconds.',
      details: { state },
    });
  }
}

export const experimentEndpoints = [getExperiment, decideExperiment];
