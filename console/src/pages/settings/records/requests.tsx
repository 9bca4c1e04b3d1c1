import { useState } from 'react';
import type { LoggedRequest } from '../../../api/api.ts';
import { useRead } from '../../../api/queries.ts';
import { Button } from '../../../design/button.tsx';
import { SelectField, TextField } from '../../../design/fields.tsx';
import { SearchField } from '../../../design/lists/search-field.tsx';
import { Empty, Loaded, State, Time } from '../../../design/parts.tsx';
import { Pager, Table } from '../../../design/table.tsx';
import { useAddress } from '../../../shell/address.ts';
import { useProject } from '../../../shell/project.ts';
import { textOfActor } from '../../../words/actors.ts';
import { count, counted } from '../../../words/numbers.ts';
import { startOfDay } from '../../../words/times.ts';
import { RequestDialog } from './request.tsx';
import { actorOf, useActors } from '../shared/use-actors.ts';

const noFilter = {
  tab: '',
  status: '',
  method: '',
  route: '',
  error: '',
  by: '',
  from: '',
  to: '',
  cursor: '',
};
type Filter = typeof noFilter;

const statuses = [
  { value: '', text: 'All' },
  { value: '2xx', text: 'Succeeded' },
  { value: '4xx', text: 'Refused' },
  { value: '5xx', text: 'Failed' },
];

const methods = ['', 'GET', 'POST', 'PUT', 'PATCH', 'DELETE'].map((value) => ({
  value,
  text: value || 'All',
}));

type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

function queryOf(filter: Filter) {
  const [kind, id] = actorOf(filter.by);
  return {
    limit: 50,
    ...(filter.cursor && { cursor: filter.cursor }),
    ...(filter.status && { status: filter.status }),
    ...(filter.method && { method: filter.method as Method }),
    ...(filter.route && { route: filter.route }),
    ...(filter.error && { errorCode: filter.error }),
    ...(kind === 'key' && { keyId: id }),
    ...(kind === 'user' && { userId: id }),
    ...(filter.from && { from: startOfDay(filter.from) }),
    ...(filter.to && { to: startOfDay(filter.to, 1) }),
  };
}

/**
 * The requests of the project. The list is read only when the user asks, because each read is also
 * a request and appears in the list.
 */
export function Requests() {
  const { api, project } = useProject();
  const [filter, set] = useAddress(noFilter);
  const query = queryOf(filter);
  const requests = useRead([project.id, 'requests', query], () => api.get('/requests', { query }));
  const isFiltered = Object.keys(query).some((name) => name !== 'limit' && name !== 'cursor');
  return (
    <div className="stack">
      <Filters filter={filter} set={set} onRefresh={() => void requests.refetch()} />
      <Loaded query={requests}>
        {({ data, total, cursor }) => (
          <>
            {data.length === 0 ? (
              <Empty>
                {isFiltered
                  ? 'No request fits this search.'
                  : 'Requests with a key or a session are listed here within 10 seconds, without their content. There is none yet, or this server keeps no request log.'}
              </Empty>
            ) : (
              <Rows requests={data} />
            )}
            <Pager
              shown={filter.cursor ? '' : counted(total, 'request')}
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
  onRefresh,
}: {
  filter: Filter;
  set: (changes: Partial<Filter>, replace?: boolean) => void;
  onRefresh: () => void;
}) {
  const actors = useActors();
  const field = (name: keyof Filter) => ({
    value: filter[name],
    onChange: (value: string) => set({ [name]: value }),
  });
  return (
    <div className="toolbar" role="search" aria-label="Requests">
      <SelectField label="Result" options={statuses} {...field('status')} />
      <SelectField label="Method" options={methods} {...field('method')} />
      <SearchField
        label="Path"
        placeholder="/contacts/{id}"
        value={filter.route}
        onChange={(route) => set({ route }, true)}
      />
      <SearchField
        label="Error code"
        placeholder="VALIDATION_ERROR"
        value={filter.error}
        onChange={(error) => set({ error }, true)}
      />
      <SelectField label="By" options={actors} {...field('by')} />
      <TextField label="From date" type="date" {...field('from')} />
      <TextField label="To date" type="date" {...field('to')} />
      <Button onClick={onRefresh}>Refresh</Button>
    </div>
  );
}

function Rows({ requests }: { requests: readonly LoggedRequest[] }) {
  const [shown, setShown] = useState<string | null>(null);
  return (
    <>
      <Table
        label="Requests"
        rows={requests}
        keyOf={({ requestId, at }) => requestId + at}
        columns={[
          { name: 'Time', cell: ({ at }) => <Time at={at} /> },
          {
            name: 'Request',
            cell: ({ requestId, method, route }) => (
              <button type="button" className="cell-button" onClick={() => setShown(requestId)}>
                {method} {route ?? '(unknown path)'}
              </button>
            ),
          },
          { name: 'Status', cell: ({ status }) => <RequestState status={status} /> },
          { name: 'Error', cell: ({ errorCode }) => errorCode && <code>{errorCode}</code> },
          { name: 'By', cell: ({ actor }) => textOfActor(actor) },
          { name: 'From', cell: ({ ip }) => ip },
          { name: 'Milliseconds', isNumber: true, cell: ({ ms }) => count(ms) },
        ]}
      />
      {shown !== null && <RequestDialog id={shown} onClose={() => setShown(null)} />}
    </>
  );
}

export function RequestState({ status }: { status: number }) {
  return (
    <State tone={status < 400 ? 'good' : status < 500 ? 'warning' : 'bad'}>{String(status)}</State>
  );
}
