import { Button } from '../../../design/button.tsx';
import { SelectField, TextArea, TextField } from '../../../design/fields.tsx';
import { EventField } from '../../../values/event-field.tsx';

/** An event of a simulation, as it is typed. */
export interface EventRow {
  name: string;
  after: string;
  unit: keyof typeof seconds;
  data: string;
}

const seconds = { minutes: 60, hours: 3_600, days: 86_400 };

function dataOf(text: string): Record<string, unknown> | undefined {
  try {
    const value = JSON.parse(text) as unknown;
    return typeof value === 'object' && value !== null ? { ...value } : undefined;
  } catch {
    return undefined;
  }
}

/** Returns an event as the API takes it. */
export function givenEvent({ name, after, unit, data }: EventRow) {
  const given = dataOf(data);
  return { name, after: Number(after) * seconds[unit], ...(given && { data: given }) };
}

/** The events that happen during a simulation. */
export function EventRows({
  rows,
  onChange,
}: {
  rows: readonly EventRow[];
  onChange: (rows: readonly EventRow[]) => void;
}) {
  const set = (at: number, changes: Partial<EventRow>) =>
    onChange(rows.map((row, index) => (index === at ? { ...row, ...changes } : row)));
  return (
    <>
      {rows.map((row, at) => (
        <div className="part" key={at}>
          <EventField value={row.name} onChange={(name) => set(at, { name })} />
          <div className="pair">
            <TextField
              label="After"
              type="number"
              min={0}
              value={row.after}
              onChange={(after) => set(at, { after })}
            />
            <SelectField
              label="Unit"
              options={Object.keys(seconds).map((value) => ({ value, text: value }))}
              value={row.unit}
              onChange={(unit) => set(at, { unit: unit as EventRow['unit'] })}
            />
          </div>
          <TextArea
            label="Data"
            className="input mono"
            rows={2}
            value={row.data}
            error={
              row.data.trim() !== '' && !dataOf(row.data) ? 'This is no JSON object.' : undefined
            }
            onChange={(data) => set(at, { data })}
          />
          <div className="actions">
            <Button isSmall onClick={() => onChange(rows.filter((_, index) => index !== at))}>
              Remove event
            </Button>
          </div>
        </div>
      ))}
      <div className="actions">
        <Button
          isSmall
          onClick={() => onChange([...rows, { name: '', after: '1', unit: 'days', data: '' }])}
        >
          Add event
        </Button>
      </div>
    </>
  );
}
