import { CheckField, SelectField, TextField } from '../../../design/fields.tsx';
import type { Config } from '../../../journey/graph.ts';
import { WhereRows } from './parts/comparison.tsx';
import { EventField } from '../../../values/event-field.tsx';
import { numberOf, type StepFormProps, textOf, without } from './parts/form-props.ts';
import { LengthFields } from './parts/length-fields.tsx';
import { UntilFields } from './parts/until-fields.tsx';

export function DigestForm({ config, set, errorOf }: StepFormProps) {
  const eventName = textOf(config['eventName']);
  const isUntil = config['until'] !== undefined;
  const length = (config['for'] ?? {}) as Config;
  return (
    <>
      <EventField
        value={eventName}
        error={errorOf('config.eventName')}
        onChange={(next) => set({ eventName: next })}
      />
      <WhereRows
        value={config['where']}
        eventName={eventName}
        path="config.where"
        errorOf={errorOf}
        onChange={(where) => set({ where })}
      />
      <SelectField
        label="Collect"
        options={[
          { value: 'for', text: 'for a time' },
          { value: 'until', text: 'until a time of day' },
        ]}
        value={isUntil ? 'until' : 'for'}
        error={errorOf('config.for')}
        onChange={(form) =>
          set(
            form === 'until'
              ? { for: undefined, immediateFirst: undefined, until: { time: '18:00' } }
              : { until: undefined, for: { amount: 1, unit: 'days' } },
          )
        }
      />
      {isUntil ? (
        <UntilFields
          value={config['until'] as Config}
          onChange={(until) => set({ until })}
          errorOf={(part) => errorOf(`config.until.${part}`)}
        />
      ) : (
        <>
          <LengthFields
            value={length}
            onChange={(changes) => set({ for: without({ ...length, ...changes }) })}
            errorOf={(part) => errorOf(`config.for.${part}`)}
          />
          <CheckField
            label="First event at once"
            value={config['immediateFirst'] === true}
            error={errorOf('config.immediateFirst')}
            onChange={(isOn) => set({ immediateFirst: isOn || undefined })}
          />
        </>
      )}
      <TextField
        label="At most events"
        type="number"
        hint="It closes earlier with this number of events. Empty: no limit."
        value={textOf(config['max'])}
        error={errorOf('config.max')}
        onChange={(text) => set({ max: numberOf(text) })}
      />
    </>
  );
}
