import { CheckField, TextField } from '../../design/fields.tsx';
import { dayNames } from '../../words/settings/send-policy.ts';
import type { Hours } from './policy-values.ts';

const days = Object.entries(dayNames) as [Hours['days'][number], string][];

/** The hours in which no marketing mail is sent. */
export function QuietHours({
  hours,
  isOn,
  onChange,
  onTurn,
  errorOf,
}: {
  hours: Hours;
  isOn: boolean;
  onChange: (hours: Hours) => void;
  onTurn: (isOn: boolean) => void;
  errorOf: (field: string) => string | undefined;
}) {
  const choose = (day: Hours['days'][number], isChosen: boolean) =>
    days
      .map(([each]) => each)
      .filter((each) => (each === day ? isChosen : hours.days.includes(each)));
  const dayError = errorOf('quietHours.days');
  return (
    <>
      <CheckField
        label="Quiet hours"
        value={isOn}
        onChange={onTurn}
        hint="Mail that is due in them waits for their end."
      />
      {isOn && (
        <div className="quiet-hours">
          <div className="limit">
            <TextField
              label="From"
              placeholder="21:00"
              value={hours.from}
              error={errorOf('quietHours.from')}
              onChange={(from) => onChange({ ...hours, from })}
            />
            <TextField
              label="To"
              placeholder="08:00"
              value={hours.to}
              error={errorOf('quietHours.to')}
              onChange={(to) => onChange({ ...hours, to })}
            />
          </div>
          <fieldset>
            <legend>On the days on which they begin</legend>
            <div className="actions">
              {days.map(([day, name]) => (
                <CheckField
                  key={day}
                  label={name}
                  value={hours.days.includes(day)}
                  onChange={(isChosen) => onChange({ ...hours, days: choose(day, isChosen) })}
                />
              ))}
            </div>
            {dayError && (
              <span className="fault" role="alert">
                {dayError}
              </span>
            )}
          </fieldset>
        </div>
      )}
    </>
  );
}
