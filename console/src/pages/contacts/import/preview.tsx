import { State } from '../../../design/parts.tsx';
import { type Column, Table } from '../../../design/table.tsx';
import { kindNames, kindOfValue, shownValue } from '../../../values/kinds.ts';
import { type ContactFile, type ImportedRow, previewOf, type Target } from './csv-file.ts';

const shown = 20;

/** The first rows as they will be stored: each value with its type. */
export function Preview({ file, targets }: { file: ContactFile; targets: readonly Target[] }) {
  const read = rowsOrFault(file, targets);
  if (typeof read === 'string') return <p role="alert">{read}</p>;
  const keys = [...new Set(read.flatMap((row) => ('data' in row ? Object.keys(row.data) : [])))];
  const columns: Column<ImportedRow>[] = [
    { name: 'Row', isNumber: true, cell: ({ row }) => row },
    {
      name: 'email',
      cell: (row) => ('error' in row ? <State tone="bad">{row.error}</State> : row.email),
    },
    { name: 'subscribed', cell: (row) => ('data' in row ? subscription(row.subscribed) : '') },
    ...keys.map((key) => ({
      name: key,
      cell: (row: ImportedRow) => ('data' in row ? <Stored value={row.data[key]} /> : ''),
    })),
  ];
  return <Table label="Preview" columns={columns} rows={read} keyOf={({ row }) => String(row)} />;
}

function rowsOrFault(file: ContactFile, targets: readonly Target[]): ImportedRow[] | string {
  try {
    return previewOf(file, targets, shown);
  } catch (error) {
    return (error as Error).message;
  }
}

const subscription = (subscribed: boolean | null) =>
  subscribed === null ? 'not given' : shownValue(subscribed);

function Stored({ value }: { value: unknown }) {
  if (value === undefined) return <span className="second">–</span>;
  return <span title={kindNames[kindOfValue(value)]}>{shownValue(value)}</span>;
}
