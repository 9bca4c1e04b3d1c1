import { useState } from 'react';
import { Button } from '../../../../design/button.tsx';
import { TextField } from '../../../../design/fields.tsx';

export type Row = readonly [name: string, value: string];

const mapOf = (rows: readonly Row[]) =>
  JSON.stringify(rows.filter(([name]) => name !== '').toSorted());

const blank: Row = ['', ''];

const isBlank = ([name, value]: Row) => name === '' && value === '';

/** Rows of two texts, which are stored as an object. Rows without a name are not stored yet. */
export function Rows({
  names: [first, second],
  value,
  onChange,
  errorOf,
  add,
  hasFirst = false,
}: {
  /** Labels of the two fields. */
  names: readonly [string, string];
  value: readonly Row[];
  onChange: (rows: readonly Row[]) => void;
  errorOf: (name: string) => string | undefined;
  /** Name of the button that adds a row. */
  add: string;
  /** True: without rows, a blank row is shown. */
  hasFirst?: boolean;
}) {
  const [typed, setTyped] = useState(value);
  const known = mapOf(typed) === mapOf(value) ? typed : value;
  const rows = hasFirst && known.length === 0 ? [blank] : known;
  const change = (next: readonly Row[]) => {
    setTyped(next);
    onChange(next.filter(([name]) => name !== ''));
  };
  const setRow = (at: number, row: Row) =>
    change(rows.map((one, index) => (index === at ? row : one)));
  return (
    <>
      {rows.map(([name, text], at) => (
        <div className="part" key={at}>
          <div className="pair">
            <TextField
              label={first}
              value={name}
              error={errorOf(name)}
              autoComplete="off"
              onChange={(next) => setRow(at, [next, text])}
            />
            <TextField
              label={second}
              value={text}
              autoComplete="off"
              onChange={(next) => setRow(at, [name, next])}
            />
          </div>
          <div className="actions">
            <Button isSmall onClick={() => change(rows.filter((_, index) => index !== at))}>
              Remove
            </Button>
          </div>
        </div>
      ))}
      <div className="actions">
        <Button isSmall onClick={() => change([...rows.filter((row) => !isBlank(row)), blank])}>
          {add}
        </Button>
      </div>
    </>
  );
}
