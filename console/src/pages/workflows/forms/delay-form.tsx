import { SelectField } from '../../../design/fields.tsx';
import type { Config } from '../../../journey/graph.ts';
import { useFields } from './parts/comparison.tsx';
import { OfferingField } from '../../../values/event-field.tsx';
import { type StepFormProps, textOf, without } from './parts/form-props.ts';
import { LengthFields } from './parts/length-fields.tsx';
import { UntilFields } from './parts/until-fields.tsx';

const forms = [
  { value: 'amount', text: 'for a time' },
  { value: 'until', text: 'until a time of day' },
  { value: 'untilField', text: 'until a date' },
];

const firstConfigs: Readonly<Record<string, Config>> = {
  amount: { amount: 1, unit: 'days' },
  until: { until: { time: '09:00' } },
  untilField: { untilField: '' },
};

export function DelayForm({ config, journey, set, replace, errorOf }: StepFormProps) {
  const form =
    config['until'] === undefined
      ? config['untilField'] === undefined
        ? 'amount'
        : 'untilField'
      : 'until';
  return (
    <>
      <SelectField
        label="Wait"
        options={forms}
        value={form}
        onChange={(next) => replace(firstConfigs[next] ?? {}, 'wait')}
      />
      {form === 'amount' && (
        <LengthFields value={config} onChange={set} errorOf={(part) => errorOf(`config.${part}`)} />
      )}
      {form === 'until' && (
        <UntilFields
          value={config['until'] as Config}
          onChange={(until) => set({ until })}
          errorOf={(part) => errorOf(`config.until.${part}`)}
        />
      )}
      {form === 'untilField' && <DateFields {...{ config, set, errorOf, journey }} />}
    </>
  );
}

function DateFields({
  config,
  journey,
  set,
  errorOf,
}: Pick<StepFormProps, 'config' | 'journey' | 'set' | 'errorOf'>) {
  const fields = useFields(journey.trigger.config.eventName);
  const offset = (config['offset'] ?? { unit: 'days' }) as Config;
  const setOffset = (changes: Config) => {
    const next = without({ ...offset, ...changes });
    set({ offset: next['amount'] === undefined ? undefined : next });
  };
  return (
    <>
      <OfferingField
        label="Date field"
        value={textOf(config['untilField'])}
        offers={fields.names}
        error={errorOf('config.untilField')}
        onChange={(untilField) => set({ untilField })}
      />
      <LengthFields
        label="Offset"
        value={offset}
        onChange={setOffset}
        errorOf={(part) => errorOf(`config.offset.${part}`)}
      />
      <p className="second small">
        The offset is added to the date. A negative one ends the wait before it.
      </p>
      <SelectField
        label="If past"
        options={[
          { value: 'continue', text: 'go on at once' },
          { value: 'exit', text: 'end the journey' },
        ]}
        value={textOf(config['ifPast'] ?? 'continue')}
        onChange={(ifPast) => set({ ifPast: ifPast === 'continue' ? undefined : ifPast })}
      />
    </>
  );
}
