import { useId, useState } from 'react';
import { count } from '../words/numbers.ts';
import { Button } from './button.tsx';
import { Table } from './table.tsx';

export interface Bar {
  /** Name of the bar, for example a day or an hour. */
  name: string;
  value: number;
}

const height = 160;
const foot = 1;

/** A bar chart over time. Screen readers read it as a table. `label` names the values. */
export function BarChart({
  label,
  bars,
  unit,
}: {
  label: string;
  bars: readonly Bar[];
  unit: string;
}) {
  const [isTable, setTable] = useState(false);
  const id = useId();
  const max = Math.max(1, ...bars.map(({ value }) => value));
  const step = 1000 / Math.max(1, bars.length);
  return (
    <figure className="card" aria-labelledby={id}>
      <header>
        <h2 id={id}>{label}</h2>
        <Button isSmall aria-pressed={isTable} onClick={() => setTable(!isTable)}>
          Show as table
        </Button>
      </header>
      {isTable ? (
        <Table
          label={label}
          rows={bars}
          keyOf={({ name }) => name}
          columns={[
            { name: 'Time', cell: ({ name }) => name },
            { name: unit, isNumber: true, cell: ({ value }) => count(value) },
          ]}
        />
      ) : (
        <div className="body">
          <svg
            className="chart"
            viewBox={`0 0 1000 ${height}`}
            preserveAspectRatio="none"
            aria-hidden="true"
          >
            <line x1="0" x2="1000" y1={height - foot} y2={height - foot} />
            {bars.map(({ name, value }, at) => {
              const tall = (value / max) * (height - foot - 8);
              return (
                <rect
                  key={name}
                  x={at * step + step * 0.12}
                  width={step * 0.76}
                  y={height - foot - tall}
                  height={tall}
                >
                  <title>{`${name}: ${count(value)}`}</title>
                </rect>
              );
            })}
          </svg>
          <div className="pager second small">
            <span>{bars[0]?.name}</span>
            <span>
              {unit}: at most {count(Math.max(0, ...bars.map(({ value }) => value)))}
            </span>
            <span>{bars.at(-1)?.name}</span>
          </div>
        </div>
      )}
    </figure>
  );
}
