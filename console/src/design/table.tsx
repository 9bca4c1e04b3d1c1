import type { ReactNode } from 'react';
import { Button } from './button.tsx';

export interface Column<Row> {
  /** The heading of the column. */
  name: string;
  cell: (row: Row) => ReactNode;
  /** Shown in the head instead of the name, for example a box that chooses all rows. */
  head?: ReactNode;
  isNumber?: boolean;
  /** True: the heading is only for screen readers. */
  hidesName?: boolean;
  /** Sorting by this column. If present, the heading is a button. */
  sort?: { direction: 'asc' | 'desc' | null; onSort: () => void };
}

/**
 * A table. `label` is the name of the table for screen readers. `place` distinguishes tables with
 * the same `label` on a page.
 */
export function Table<Row>({
  label,
  place,
  columns,
  rows,
  keyOf,
}: {
  label: string;
  place?: string;
  columns: readonly Column<Row>[];
  rows: readonly Row[];
  keyOf: (row: Row) => string;
}) {
  return (
    <div
      className="table-room"
      tabIndex={0}
      role="region"
      aria-label={`${place ? `${label} of ${place}` : label}, scrolls sideways`}
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

/** Shows which part of a list is on the page, with links to other pages. */
export function Pager({
  shown,
  onFirst,
  onPrevious,
  onNext,
}: {
  shown: ReactNode;
  /** null: this is the first page. */
  onFirst?: (() => void) | null;
  onPrevious?: (() => void) | null;
  /** null: this is the last page. */
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
