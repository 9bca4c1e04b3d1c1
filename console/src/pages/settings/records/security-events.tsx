import type { SecurityEvent } from '../../../api/api.ts';
import { readFile } from '../../../api/api.ts';
import { useLive } from '../../../api/queries.ts';
import { Button } from '../../../design/button.tsx';
import { SelectField, TextField } from '../../../design/fields.tsx';
import { SearchField } from '../../../design/lists/search-field.tsx';
import { Empty, Loaded, Time } from '../../../design/parts.tsx';
import { Pager, Table } from '../../../design/table.tsx';
import { useAction } from '../../../design/use-action.ts';
import { useAddress } from '../../../shell/address.ts';
import { useProject } from '../../../shell/project.ts';
import { saveFile } from '../../../shell/save-file.ts';
import { textOfActor } from '../../../words/actors.ts';
import { counted } from '../../../words/numbers.ts';
import { textOfSecurityEvent } from '../../../words/security-events.ts';
import { startOfDay } from '../../../words/times.ts';
import { actorOf, useActors } from '../shared/use-actors.ts';

const noFilter = { tab: '', event: '', by: '', target: '', from: '', to: '', cursor: '' };
type Filter = typeof noFilter;

function filterOf({ event, by, target, from, to }: Filter) {
  return {
    ...(event && { event }),
    ...(by && { actorId: actorOf(by)[1] }),
    ...(target && { targetId: target }),
    ...(from && { from: startOfDay(from) }),
    ...(to && { to: startOfDay(to, 1) }),
  };
}

/** The changes in the project, and who made them. Only administrators see the changes. */
export function SecurityEvents() {
  const { adminOnly } = useProject();
  return adminOnly === null ? (
    <Events />
  ) : (
    <Empty>Who changed what in the project is listed here. Only administrators see it.</Empty>
  );
}

function Events() {
  const { api, project } = useProject();
  const [filter, set] = useAddress(noFilter);
  const filters = filterOf(filter);
  const query = { limit: 50, ...filters, ...(filter.cursor && { cursor: filter.cursor }) };
  const events = useLive({
    key: [project.id, 'security-events', query],
    read: () => api.get('/security-events', { query }),
  });
  return (
    <div className="stack">
      <Filters filter={filter} set={set} filters={filters} />
      <Loaded query={events}>
        {({ data, total, cursor }) => (
          <>
            {data.length === 0 ? <Empty>No event fits this search.</Empty> : <Rows events={data} />}
            <Pager
              shown={filter.cursor ? '' : counted(total, 'event')}
              onFirst={filter.cursor ? () => set({ cursor: '' }) : null}
              onNext={cursor ? () => set({ cursor }) : null}
            />
          </>
        )}
      </Loaded>
    </div>
  );
}

function Filters({
  filter,
  set,
  filters,
}: {
  filter: Filter;
  set: (changes: Partial<Filter>, replace?: boolean) => void;
  filters: Record<string, string>;
}) {
  const { project } = useProject();
  const actors = useActors();
  const save = useAction(async () => {
    const query = new URLSearchParams(filters).toString();
    const path = `/security-events/export${query === '' ? '' : `?${query}`}`;
    saveFile('security-events.ndjson', await readFile(project.id, path));
  });
  return (
    <div className="toolbar" role="search" aria-label="Security events">
      <SearchField
        label="Event"
        placeholder="member.*"
        value={filter.event}
        onChange={(event) => set({ event }, true)}
      />
      <SelectField label="By" options={actors} value={filter.by} onChange={(by) => set({ by })} />
      <SearchField
        label="Id of the record"
        value={filter.target}
        onChange={(target) => set({ target }, true)}
      />
      <TextField
        label="From date"
        type="date"
        value={filter.from}
        onChange={(from) => set({ from })}
      />
      <TextField label="To date" type="date" value={filter.to} onChange={(to) => set({ to })} />
      <Button isBusy={save.isBusy} onClick={() => void save.run()}>
        Export
      </Button>
    </div>
  );
}

function Rows({ events }: { events: readonly SecurityEvent[] }) {
  return (
    <Table
      label="Security events"
      rows={events}
      keyOf={({ id }) => id}
      columns={[
        { name: 'Time', cell: ({ at }) => <Time at={at} /> },
        {
          name: 'Event',
          cell: ({ event, count }) => (
            <>
              {textOfSecurityEvent(event)}
              {count > 1 && ` (${count} times)`} <code className="second">{event}</code>
            </>
          ),
        },
        { name: 'By', cell: ({ actor }) => textOfActor(actor) },
        { name: 'Record', cell: ({ target }) => target && <code>{target.id}</code> },
        { name: 'Changes', cell: (event) => <Changes event={event} /> },
        { name: 'From', cell: ({ ip }) => ip ?? '–' },
      ]}
    />
  );
}

function textOf(value: unknown): string {
  if (value === null || value === undefined) return 'nothing';
  return typeof value === 'string' ? value : JSON.stringify(value);
}

function Changes({ event: { changes, details } }: { event: SecurityEvent }) {
  if (!changes) {
    const entries = Object.entries(details).filter(([, value]) => value !== null);
    return entries.map(([name, value]) => `${name}: ${textOf(value)}`).join(', ');
  }
  return (
    <ul className="changes">
      {changes.map(({ field, before, after }) => (
        <li key={field}>
          <code>{field}</code>: {textOf(before)} → {textOf(after)}
        </li>
      ))}
    </ul>
  );
}
