import { Button } from '../../design/button.tsx';
import { SelectField, TextField } from '../../design/fields.tsx';
import { kindNames, kindOfValue, type ValueKind } from '../../values/kinds.ts';
import { ValueField } from '../../values/value-field.tsx';
import { useFields, useKnownValues } from '../../filter/fields.ts';

/** A field of a contact in a form. */
export interface DataRow {
  key: string;
  kind: ValueKind;
  /** undefined: the user has not typed the value yet. */
  value: unknown;
}

/** Rows of the data of a contact. */
export function rowsOf(data: Record<string, unknown> | null): DataRow[] {
  return Object.entries(data ?? {}).map(([key, value]) => ({
    key,
    kind: kindOfValue(value),
    value,
  }));
}

/**
 * Returns the data of rows. Rows without a key are left out. A row of the kind text without a value
 * gets the value ''.
 */
export function dataOf(rows: readonly DataRow[]): Record<string, unknown> {
  return Object.fromEntries(
    rows
      .filter(({ key }) => key.trim() !== '')
      .map(({ key, kind, value }) => [
        key.trim(),
        value === undefined && kind === 'text' ? '' : value,
      ]),
  );
}

/** Returns a sentence about the first row without a value; null: all rows have a value. */
export function openRow(rows: readonly DataRow[]): string | null {
  const open = rows.find(
    ({ key, kind, value }) => key.trim() !== '' && value === undefined && kind !== 'text',
  );
  return open ? `${open.key} has no ${kindNames[open.kind].toLowerCase()} yet.` : null;
}

const kinds = (Object.keys(kindNames) as ValueKind[]).map((value) => ({
  value,
  text: kindNames[value],
}));

/** Keys and values of a contact, each value with its type. */
export function DataRows({
  rows,
  onChange,
  errorOf,
}: {
  rows: readonly DataRow[];
  onChange: (rows: DataRow[]) => void;
  errorOf: (field: string) => string | undefined;
}) {
  const fault = errorOf('data');
  const set = (index: number, row: DataRow) =>
    onChange(rows.map((before, at) => (at === index ? row : before)));
  return (
    <fieldset className="data-rows">
      <legend>Data</legend>
      {rows.map((row, index) => (
        <Row
          key={index}
          row={row}
          error={row.key === '' ? undefined : errorOf(`data.${row.key}`)}
          onChange={(next) => set(index, next)}
          onRemove={() => onChange(rows.filter((_, at) => at !== index))}
        />
      ))}
      {fault && !rows.some(({ key }) => errorOf(`data.${key}`)) && (
        <p className="fault" role="alert">
          {fault}
        </p>
      )}
      <div>
        <Button
          isSmall
          onClick={() => onChange([...rows, { key: '', kind: 'text', value: undefined }])}
        >
          Add field
        </Button>
      </div>
    </fieldset>
  );
}

function Row({
  row,
  error,
  onChange,
  onRemove,
}: {
  row: DataRow;
  error: string | undefined;
  onChange: (row: DataRow) => void;
  onRemove: () => void;
}) {
  const { types } = useFields();
  const known = useKnownValues(row.key === '' ? '' : `data.${row.key}`);
  const typeOf = (key: string): ValueKind => {
    const type = types.get(`data.${key}`);
    if (row.value !== undefined) return row.kind;
    return type === 'number' || type === 'boolean' || type === 'date' ? type : 'text';
  };
  return (
    <div className="data-row">
      <TextField
        label="Key"
        autoComplete="off"
        value={row.key}
        error={error}
        onChange={(key) => onChange({ ...row, key, kind: typeOf(key) })}
      />
      <SelectField
        label="Type"
        value={row.kind}
        options={kinds}
        onChange={(kind) =>
          onChange({
            ...row,
            kind: kind as ValueKind,
            value: kind === 'nothing' ? null : undefined,
          })
        }
      />
      <ValueField
        label="Value"
        kind={row.kind}
        value={row.value}
        known={known.filter((one) => kindOfValue(one) === row.kind)}
        onChange={(value) => onChange({ ...row, value })}
      />
      <Button kind="plain" isSmall aria-label="Remove field" onClick={onRemove}>
        ×
      </Button>
    </div>
  );
}
