import type { ReactNode } from 'react';
import { Button } from './button.tsx';

export interface Column<Row> {
  /** The head of the column. */
  name: string;
  cell: (row: Row) => ReactNode;
  /** Shown in the head instead of the name: a box that chooses all rows. */
  head?: ReactNode;
  isNumber?: boolean;
  /** True: the head is read aloud but not shown. */
  hidesName?: boolean;
  /** The way of sorting by this column; the head becomes a button. */
  sort?: { direction: 'asc' | 'desc' | null; onSort: () => void };
}

/** A table of rows. `label` is its name. */
export function Table<Row>({
  label,
  columns,
  rows,
  keyOf,
}: {
  label: string;
  columns: readonly Column<Row>[];
  rows: readonly Row[];
  keyOf: (row: Row) => string;
}) {
  return (
    <div
      className="table-room"
      tabIndex={0}
      role="region"
      aria-label={`${label}, scrolls sideways`}
    >
      <table aria-label={label}>
        <thead>
          <tr>
            {columns.map((column) => (
              <Head key={column.name} column={column} />
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={keyOf(row)}>
              {columns.map(({ name, cell, isNumber }) => (
                <td key={name} className={isNumber ? 'number' : undefined}>
                  {cell(row)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function Head<Row>({ column: { name, head, isNumber, hidesName, sort } }: { column: Column<Row> }) {
  const order = sort?.direction === 'asc' ? 'ascending' : 'descending';
  return (
    <th
      scope="col"
      className={isNumber ? 'number' : undefined}
      aria-sort={sort ? (sort.direction ? order : 'none') : undefined}
    >
      {sort ? (
        <button type="button" onClick={sort.onSort}>
          {name} {sort.direction === 'asc' ? '↑' : sort.direction === 'desc' ? '↓' : ''}
        </button>
      ) : (
        (head ?? <span className={hidesName ? 'hidden' : undefined}>{name}</span>)
      )}
    </th>
  );
}

/** Says which part of a list is shown, and leads on. */
export function Pager({
  shown,
  onFirst,
  onPrevious,
  onNext,
}: {
  shown: ReactNode;
  /** Null: this is the first page. */
  onFirst?: (() => void) | null;
  onPrevious?: (() => void) | null;
  /** Null: this is the last page. */
  onNext: (() => void) | null;
}) {
  return (
    <nav className="pager" aria-label="Pages">
      <span className="second">{shown}</span>
      <span className="actions">
        {onFirst && <Button onClick={onFirst}>First page</Button>}
        {onPrevious && <Button onClick={onPrevious}>Previous</Button>}
        {onNext && <Button onClick={onNext}>Next</Button>}
      </span>
    </nav>
  );
}
