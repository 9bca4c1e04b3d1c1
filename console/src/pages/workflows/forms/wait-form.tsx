import { useState } from 'react';
import { CheckField, SelectField, TextField } from '../../../design/fields.tsx';
import { WhereRows } from './parts/comparison.tsx';
import { secondsOf, type Unit, unitOf, units } from '../../../values/spans.ts';
import { EventField } from '../../../values/event-field.tsx';
import { numberOf, type StepFormProps, textOf } from './parts/form-props.ts';

export function WaitForm({ config, set, errorOf }: StepFormProps) {
  const eventName = textOf(config['eventName']);
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
      <TimeoutFields {...{ config, set, errorOf }} />
      <CheckField
        label="Events since the start count"
        hint="Also an event that came before this step ends the wait."
        value={config['since'] === 'execution'}
        onChange={(isOn) => set({ since: isOn ? 'execution' : undefined })}
      />
    </>
  );
}

function TimeoutFields({
  config,
  set,
  errorOf,
}: Pick<StepFormProps, 'config' | 'set' | 'errorOf'>) {
  const timeout = typeof config['timeout'] === 'number' ? config['timeout'] : undefined;
  const [unit, setUnit] = useState<Unit>(() => unitOf(timeout ?? secondsOf.days));
  const amount = timeout === undefined ? '' : String(timeout / secondsOf[unit]);
  const setTimeout = (text: string, next: Unit) => {
    const value = numberOf(text);
    set({ timeout: value === undefined ? undefined : Math.round(value * secondsOf[next]) });
  };
  return (
    <div className="pair">
      <TextField
        label="At most"
        type="number"
        hint="Empty: for ever."
        value={amount}
        error={errorOf('config.timeout')}
        onChange={(text) => setTimeout(text, unit)}
      />
      <SelectField
        label="Unit"
        options={units}
        value={unit}
        onChange={(text) => {
          setUnit(text as Unit);
          setTimeout(amount, text as Unit);
        }}
      />
    </div>
  );
}
