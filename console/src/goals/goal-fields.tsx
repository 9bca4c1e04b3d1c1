import { CheckField, SelectField, TextField } from '../design/fields.tsx';
import { EventField } from '../values/event-field.tsx';
import { firstGoal, type GoalValues } from './goal.ts';

const touches = [
  { value: 'click', text: 'a click in the mail' },
  { value: 'open', text: 'an open of the mail' },
  { value: 'sent', text: 'the sending of the mail' },
];

/** The goal of mail: an event that the mail should lead to. */
export function GoalFields({
  value,
  onChange,
  errorOf,
}: {
  /** null: there is no goal. */
  value: GoalValues | null;
  onChange: (value: GoalValues | null) => void;
  /** The error of a field of the API: `goal.eventName`. */
  errorOf: (field: string) => string | undefined;
}) {
  const set = (changes: Partial<GoalValues>) => value && onChange({ ...value, ...changes });
  return (
    <>
      <CheckField
        label="Count a goal"
        hint="An event that the mail should lead to, such as a purchase."
        value={value !== null}
        error={value ? undefined : errorOf('goal')}
        onChange={(isOn) => onChange(isOn ? firstGoal : null)}
      />
      {value && (
        <div className="columns">
          <EventField
            value={value.eventName}
            error={errorOf('goal.eventName')}
            onChange={(eventName) => set({ eventName })}
          />
          <SelectField
            label="Counts after"
            options={touches}
            value={value.touch}
            error={errorOf('goal.touch')}
            onChange={(touch) => set({ touch: touch as GoalValues['touch'] })}
          />
          <TextField
            label="Within days"
            type="number"
            min={1}
            max={90}
            value={value.windowDays}
            error={errorOf('goal.windowDays')}
            onChange={(windowDays) => set({ windowDays })}
          />
          <TextField
            label="Value field"
            autoComplete="off"
            hint="A number in the data of the event, such as order.total. Empty: events are only counted."
            value={value.valueField}
            error={errorOf('goal.valueField')}
            onChange={(valueField) => set({ valueField })}
          />
        </div>
      )}
    </>
  );
}
