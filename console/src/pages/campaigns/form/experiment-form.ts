import type { CampaignArm, CampaignExperiment, CreateCampaignRequest } from '../../../api/api.ts';
import { secondsOf, type Unit, unitOf } from '../../../values/spans.ts';

/** The values of the form of an experiment. An empty text is no value. */
export interface ExperimentValues {
  arms: readonly ArmValues[];
  testPercent: string;
  decideAfter: string;
  decideUnit: Unit;
  metric: CampaignExperiment['metric'];
  eventName: string;
  minPerArm: string;
  minProbability: string;
  onTie: CampaignExperiment['onTie'];
}

/** One version of the mail. Empty parts are the same as in the campaign. */
export interface ArmValues {
  id: string;
  name: string;
  subject: string;
  from: string;
  fromName: string;
  replyTo: string;
  /** null: the body of the campaign. */
  body: string | null;
  /**
   * Template from which the API made this version; empty: the version has no template, or was
   * changed later.
   */
  templateId: string;
}

const emptyArm = {
  subject: '',
  from: '',
  fromName: '',
  replyTo: '',
  body: null,
  templateId: '',
} as const;

/** Maximum number of versions. */
export const armsMax = 5;

/** Returns a version with the first letter that no other version has as id. */
export function newArm(arms: readonly Pick<ArmValues, 'id'>[]): ArmValues {
  const id = 'abcdefg'.split('').find((letter) => !arms.some((arm) => arm.id === letter)) ?? '';
  return { ...emptyArm, id, name: '' };
}

export function firstExperiment(): ExperimentValues {
  const first = newArm([]);
  return {
    arms: [first, newArm([first])],
    testPercent: '20',
    decideAfter: '4',
    decideUnit: 'hours',
    metric: 'human_click',
    eventName: '',
    minPerArm: '100',
    minProbability: '',
    onTie: 'first',
  };
}

/** Returns the form of an experiment; null: there is no experiment. */
export function experimentValues(experiment: CampaignExperiment | undefined) {
  if (!experiment) return null;
  const { arms, testPercent, decideAfterSeconds, minPerArm, minProbability } = experiment;
  const decideUnit = unitOf(decideAfterSeconds);
  return {
    arms: arms.map(armValues),
    testPercent: String(testPercent),
    decideAfter: String(decideAfterSeconds / secondsOf[decideUnit]),
    decideUnit,
    metric: experiment.metric,
    eventName: experiment.eventName ?? '',
    minPerArm: String(minPerArm),
    minProbability: minProbability === null ? '' : String(minProbability),
    onTie: experiment.onTie,
  } satisfies ExperimentValues;
}

function armValues({ id, name, ...parts }: CampaignArm): ArmValues {
  return { ...emptyArm, ...parts, id, name: name ?? '' };
}

type ExperimentRequest = NonNullable<CreateCampaignRequest['experiment']>;

export function experimentRequest(values: ExperimentValues | null): ExperimentRequest | null {
  if (!values) return null;
  const { testPercent, decideAfter, decideUnit, metric, eventName, minProbability } = values;
  return {
    arms: values.arms.map(armRequest),
    testPercent: Number(testPercent),
    decideAfterSeconds: Math.round(Number(decideAfter) * secondsOf[decideUnit]),
    metric,
    ...(metric === 'event' && { eventName }),
    minPerArm: Number(values.minPerArm),
    minProbability: minProbability === '' ? null : Number(minProbability),
    onTie: values.onTie,
  };
}

function armRequest({ id, body, ...texts }: ArmValues): ExperimentRequest['arms'][number] {
  const given = Object.entries(texts).filter(([, text]) => text !== '');
  return { id, ...Object.fromEntries(given), ...(body !== null && { body }) };
}
