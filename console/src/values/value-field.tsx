import { useId, useState } from 'react';
import { SelectField, TextField } from '../design/fields.tsx';
import { timeZone } from '../words/times.ts';
import { typedOf, valueOf, type ValueKind } from './kinds.ts';

const yesOrNo = [
  { value: '', text: 'Choose…' },
  { value: 'true', text: 'yes' },
  { value: 'false', text: 'no' },
];

const inputTypes: Partial<Record<ValueKind, string>> = { date: 'date', moment: 'datetime-local' };

/**
 * The field of one value. Incomplete text stays in the field, such as `4.` before `4.5`. `known`
 * are values that the field offers.
 */
export function ValueField({
  label,
  kind,
  value,
  onChange,
  known = [],
  error,
  hidesLabel,
}: {
  label: string;
  kind: ValueKind;
  /** undefined: no value was typed yet. */
  value: unknown;
  onChange: (value: unknown) => void;
  known?: readonly unknown[];
  error?: string | undefined;
  hidesLabel?: boolean;
}) {
  const list = useId();
  const [typed, setTyped] = useState('');
  if (kind === 'nothing') return null;
  const stored = typedOf(value, kind);
  const isSame = typedOf(valueOf(typed, kind), kind) === stored;
  const about = { label, error, hidesLabel };
  const change = (text: string) => {
    setTyped(text);
    onChange(valueOf(text, kind));
  };
  if (kind === 'boolean') {
    return <SelectField {...about} options={yesOrNo} value={stored} onChange={change} />;
  }
  return (
    <>
      <TextField
        {...about}
        type={inputTypes[kind] ?? 'text'}
        inputMode={kind === 'number' ? 'decimal' : undefined}
        list={known.length > 0 ? list : undefined}
        hint={kind === 'moment' ? timeZone() : undefined}
        autoComplete="off"
        value={isSame ? typed : stored}
        onChange={change}
      />
      {known.length > 0 && (
        <datalist id={list}>
          {known.map((one) => (
            <option key={String(one)} value={String(one)} />
          ))}
        </datalist>
      )}
    </>
  );
}
