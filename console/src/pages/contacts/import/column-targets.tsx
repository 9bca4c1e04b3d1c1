import { useState } from 'react';
import { SelectField, TextField } from '../../../design/fields.tsx';
import { useFields } from '../../../filter/fields.ts';
import type { ContactFile, Target } from './csv-file.ts';

const leaveOut = '-';
const other = '+';

/** A field for each column of the file, in which the user chooses the target of the column. */
export function ColumnTargets({
  file,
  targets,
  onChange,
}: {
  file: ContactFile;
  targets: readonly Target[];
  onChange: (targets: Target[]) => void;
}) {
  const { types } = useFields();
  // The import turns column names into lower case, so other keys cannot be targets.
  const known = [...types.keys()]
    .map((field) => field.slice(5))
    .filter((key) => key === key.toLowerCase());
  return (
    <div className="column-targets">
      {file.columns.map((name, index) => (
        <ColumnTarget
          key={index}
          name={name || `${index + 1}`}
          known={known}
          target={targets[index] ?? null}
          onChange={(next) => onChange(targets.map((one, at) => (at === index ? next : one)))}
        />
      ))}
    </div>
  );
}

function ColumnTarget({
  name,
  known,
  target,
  onChange,
}: {
  name: string;
  known: readonly string[];
  target: Target;
  onChange: (target: Target) => void;
}) {
  const [isOther, setOther] = useState(false);
  const own = name.toLowerCase();
  const fields = [...new Set([own, ...known])].filter(
    (key) => key !== 'email' && key !== 'subscribed',
  );
  return (
    <div className="column-target">
      <SelectField
        label={`Column ${name}`}
        value={isOther ? other : (target ?? leaveOut)}
        options={[
          { value: 'email', text: 'email' },
          { value: 'subscribed', text: 'subscribed' },
          { value: leaveOut, text: 'Leave out' },
          ...fields.map((key) => ({ value: key, text: key, group: 'Data' })),
          { value: other, text: 'Another field…', group: 'Data' },
        ]}
        onChange={(next) => {
          setOther(next === other);
          onChange(next === leaveOut ? null : next === other ? '' : next);
        }}
      />
      {isOther && (
        <TextField
          label={`Field of ${name}`}
          value={target ?? ''}
          autoComplete="off"
          onChange={(next) => onChange(next.trim().toLowerCase())}
        />
      )}
    </div>
  );
}
