import { CheckField, TextField } from '../../../../design/fields.tsx';
import type { Config } from '../../../../journey/graph.ts';
import { textOf, without } from './form-props.ts';
import { ZoneField } from './zone-field.tsx';

const days = [
  ['mon', 'Monday'],
  ['tue', 'Tuesday'],
  ['wed', 'Wednesday'],
  ['thu', 'Thursday'],
  ['fri', 'Friday'],
  ['sat', 'Saturday'],
  ['sun', 'Sunday'],
] as const;

/** A time of day on some days of the week. */
export function UntilFields({
  value,
  onChange,
  errorOf,
}: {
  value: Config;
  onChange: (value: Config) => void;
  errorOf: (part: string) => string | undefined;
}) {
  const chosen = Array.isArray(value['days']) ? (value['days'] as string[]) : [];
  const setDays = (next: string[]) =>
    onChange(without({ ...value, days: next.length === 0 ? undefined : next }));
  return (
    <>
      <TextField
        label="Time"
        type="time"
        value={textOf(value['time'])}
        error={errorOf('time')}
        onChange={(time) => onChange({ ...value, time })}
      />
      <fieldset className="field">
        <legend>Days</legend>
        <div className="actions">
          {days.map(([day, name]) => (
            <CheckField
              key={day}
              label={name}
              value={chosen.includes(day)}
              onChange={(isOn) =>
                setDays(isOn ? [...chosen, day] : chosen.filter((one) => one !== day))
              }
            />
          ))}
        </div>
        <span className="hint">None chosen: every day.</span>
      </fieldset>
      <ZoneField
        isOfContact
        value={textOf(value['timeZone'] ?? 'contact')}
        error={errorOf('timeZone')}
        onChange={(timeZone) => onChange({ ...value, timeZone })}
      />
    </>
  );
}
