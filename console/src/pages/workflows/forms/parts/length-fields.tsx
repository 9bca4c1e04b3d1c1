import { SelectField, TextField } from '../../../../design/fields.tsx';
import type { Config } from '../../../../journey/graph.ts';
import { numberOf, textOf } from './form-props.ts';

const units = ['minutes', 'hours', 'days'].map((value) => ({ value, text: value }));

/** An amount and its unit. */
export function LengthFields({
  value: { amount, unit },
  onChange,
  errorOf,
  label = 'Amount',
}: {
  value: Config;
  onChange: (changes: Config) => void;
  /** The error of `amount` or `unit`. */
  errorOf: (part: string) => string | undefined;
  label?: string;
}) {
  return (
    <div className="pair">
      <TextField
        label={label}
        type="number"
        value={textOf(amount)}
        error={errorOf('amount')}
        onChange={(text) => onChange({ amount: numberOf(text) })}
      />
      <SelectField
        label="Unit"
        options={units}
        value={textOf(unit)}
        error={errorOf('unit')}
        onChange={(next) => onChange({ unit: next })}
      />
    </div>
  );
}
