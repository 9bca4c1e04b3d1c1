import { Button } from '../../../../design/button.tsx';
import { CheckField, SelectField, TextField } from '../../../../design/fields.tsx';
import type { FormState } from '../../../../design/form.tsx';
import { EventField } from '../../../../values/event-field.tsx';
import { units, type Unit } from '../../../../values/spans.ts';
import { metrics } from '../../../../words/experiments.ts';
import { count, counted } from '../../../../words/numbers.ts';
import type { CampaignValues } from '../../form/campaign-form.ts';
import { useAudience } from '../../form/use-audience.ts';
import { ArmFields } from './arm-fields.tsx';
import {
  armsMax,
  type ArmValues,
  type ExperimentValues,
  firstExperiment,
  newArm,
} from '../../form/experiment-form.ts';

/** Several versions of a campaign, and the rules by which the best version is found. */
export function ExperimentFields({ form }: { form: FormState<CampaignValues> }) {
  const { experiment } = form.values;
  const change = (next: ExperimentValues | null) => form.set({ experiment: next });
  return (
    <>
      <CheckField
        label="Test several versions"
        hint="A test group gets them, the rest of the recipients gets the best one."
        value={experiment !== null}
        error={experiment ? undefined : form.errorOf('experiment')}
        onChange={(isOn) => change(isOn ? firstExperiment() : null)}
      />
      {experiment && (
        <>
          <Settings form={form} experiment={experiment} onChange={change} />
          <Versions form={form} experiment={experiment} onChange={change} />
        </>
      )}
    </>
  );
}

interface Parts {
  form: FormState<CampaignValues>;
  experiment: ExperimentValues;
  onChange: (experiment: ExperimentValues) => void;
}

const metricOptions = Object.entries(metrics).map(([value, text]) => ({ value, text }));

const ties = [
  { value: 'first', text: 'the first version wins' },
  { value: 'manual', text: 'wait for my decision' },
];

function Settings({ form, experiment, onChange }: Parts) {
  const { testPercent, decideAfter, decideUnit, metric, minPerArm, minProbability } = experiment;
  const set = (changes: Partial<ExperimentValues>) => onChange({ ...experiment, ...changes });
  const errorOf = (field: string) => form.errorOf(`experiment.${field}`);
  return (
    <div className="columns">
      <TextField
        label="Test group in percent"
        type="number"
        min={1}
        max={100}
        value={testPercent}
        error={errorOf('testPercent')}
        hint={<Sizes values={form.values} experiment={experiment} />}
        onChange={(text) => set({ testPercent: text })}
      />
      <div className="pair">
        <TextField
          label="Decide after"
          type="number"
          min={0}
          step="any"
          value={decideAfter}
          error={errorOf('decideAfterSeconds')}
          hint="From the last mail of the test group on."
          onChange={(text) => set({ decideAfter: text })}
        />
        <SelectField
          label="Unit"
          options={units}
          value={decideUnit}
          onChange={(unit) => set({ decideUnit: unit as Unit })}
        />
      </div>
      <SelectField
        label="Best by"
        options={metricOptions}
        value={metric}
        error={errorOf('metric')}
        onChange={(next) => set({ metric: next as ExperimentValues['metric'] })}
      />
      {metric === 'event' && (
        <EventField
          value={experiment.eventName}
          error={errorOf('eventName')}
          onChange={(eventName) => set({ eventName })}
        />
      )}
      <TextField
        label="Least mails per version"
        type="number"
        min={1}
        value={minPerArm}
        error={errorOf('minPerArm')}
        hint="With fewer sent mails, the numbers do not decide."
        onChange={(text) => set({ minPerArm: text })}
      />
      <TextField
        label="Certainty in percent"
        type="number"
        min={50}
        max={99.99}
        step="any"
        value={minProbability}
        error={errorOf('minProbability')}
        hint="Chance that the best version is really the best. Empty: the highest rate wins."
        onChange={(text) => set({ minProbability: text })}
      />
      <SelectField
        label="If the numbers do not decide"
        options={ties}
        value={experiment.onTie}
        error={errorOf('onTie')}
        onChange={(onTie) => set({ onTie: onTie as ExperimentValues['onTie'] })}
      />
    </div>
  );
}

/**
 * Estimates how many contacts get each version, and how many wait until the best version is known.
 */
export function Sizes({
  values,
  experiment,
}: {
  values: CampaignValues;
  experiment: ExperimentValues;
}) {
  const { data } = useAudience(values);
  const percent = Number(experiment.testPercent);
  if (!data || !(percent >= 1 && percent <= 100)) return null;
  const tested = Math.round((data.recipients * percent) / 100);
  const each = counted(Math.round(tested / experiment.arms.length), 'contact');
  const rest = data.recipients - tested;
  return `About ${each} for each version. ${rest === 0 ? 'Nobody waits for the best one.' : `${count(rest)} wait for the best one.`}`;
}

function Versions({ form, experiment, onChange }: Parts) {
  const { arms } = experiment;
  const setArms = (next: readonly ArmValues[]) => onChange({ ...experiment, arms: next });
  const setArm = (at: number, arm: ArmValues) =>
    setArms(arms.map((one, index) => (index === at ? arm : one)));
  return (
    <>
      {arms.map((arm, at) => (
        <ArmFields
          key={at}
          arm={arm}
          campaign={form.values}
          errorOf={(field) => form.errorOf(`experiment.arms.${at}.${field}`)}
          onChange={(next) => setArm(at, next)}
          onRemove={arms.length > 2 ? () => setArms(arms.filter((one) => one !== arm)) : null}
        />
      ))}
      <div className="actions">
        <Button
          isSmall
          disabledBecause={arms.length >= armsMax && `There are at most ${armsMax} versions.`}
          onClick={() => setArms([...arms, newArm(arms)])}
        >
          Add version
        </Button>
      </div>
    </>
  );
}
