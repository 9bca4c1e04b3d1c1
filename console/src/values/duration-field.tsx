import { SelectField, TextField } from '../design/fields.tsx';

/** A duration as it is typed: an amount and its unit in seconds. */
export interface Duration {
  amount: string;
  unit: string;
}

const units = [
  { value: '86400', text: 'days' },
  { value: '3600', text: 'hours' },
  { value: '60', text: 'minutes' },
  { value: '1', text: 'seconds' },
];

/** Returns a duration in its largest whole unit. */
export function durationOf(seconds: number | null): Duration {
  if (seconds === null) return { amount: '', unit: '3600' };
  const unit = units.find(({ value }) => seconds % Number(value) === 0)!;
  return { amount: String(seconds / Number(unit.value)), unit: unit.value };
}

/** Returns a duration in seconds; null: no amount is typed. */
export function secondsOf({ amount, unit }: Duration): number | null {
  return amount.trim() === '' ? null : Number(amount) * Number(unit);
}

export function DurationField({
  label,
  value,
  onChange,
  error,
  hint,
}: {
  label: string;
  value: Duration;
  onChange: (value: Duration) => void;
  error?: string | undefined;
  hint?: string;
}) {
  return (
    <div className="amount-and-unit">
      <TextField
        label={label}
        type="number"
        min="1"
        value={value.amount}
        error={error}
        hint={hint}
        onChange={(amount) => onChange({ ...value, amount })}
      />
      <SelectField
        label="Unit"
        options={units}
        value={value.unit}
        onChange={(unit) => onChange({ ...value, unit })}
      />
    </div>
  );
}
