import { useId } from 'react';
import { Button } from '../../design/button.tsx';
import { TextField } from '../../design/fields.tsx';
import type { TypedCap } from './policy-values.ts';

const limitsMax = 5;

/** The maximum numbers of marketing mails per contact. All limits apply together. */
export function Limits({
  caps,
  onChange,
  errorOf,
}: {
  caps: readonly TypedCap[];
  onChange: (caps: readonly TypedCap[]) => void;
  errorOf: (field: string) => string | undefined;
}) {
  const id = useId();
  const change = (at: number, changes: Partial<TypedCap>) =>
    onChange(caps.map((cap, index) => (index === at ? { ...cap, ...changes } : cap)));
  return (
    <section aria-labelledby={id} className="limits">
      <h2 id={id}>Limits</h2>
      {caps.length === 0 && <p className="second">There is none yet.</p>}
      {caps.map(({ max, perDays }, at) => (
        <div key={at} className="limit">
          <TextField
            label="At most (mails)"
            type="number"
            min="1"
            value={max}
            error={errorOf(`caps.${at}.max`)}
            onChange={(next) => change(at, { max: next })}
          />
          <TextField
            label="In (days)"
            type="number"
            min="1"
            value={perDays}
            error={errorOf(`caps.${at}.perDays`)}
            onChange={(next) => change(at, { perDays: next })}
          />
          <Button onClick={() => onChange(caps.filter((_, index) => index !== at))}>Remove</Button>
        </div>
      ))}
      <div className="actions">
        <Button
          isSmall
          disabledBecause={caps.length >= limitsMax && `There can be ${limitsMax} limits.`}
          onClick={() => onChange([...caps, { max: '3', perDays: '7' }])}
        >
          Add limit
        </Button>
      </div>
    </section>
  );
}
