import { useState } from 'react';
import type { Suppression } from '../../api/api.ts';
import { useRead } from '../../api/queries.ts';
import { Button } from '../../design/button.tsx';
import { SelectField } from '../../design/fields.tsx';
import { SearchField } from '../../design/lists/search-field.tsx';
import { PageHead } from '../../design/page-head.tsx';
import { Loaded } from '../../design/parts.tsx';
import { Pager } from '../../design/table.tsx';
import { useAddress } from '../../shell/address.ts';
import { useProject } from '../../shell/project.ts';
import { counted } from '../../words/numbers.ts';
import { suppressionReasons, suppressionScopes } from '../../words/reasons.ts';
import { AddAddresses } from './add-addresses.tsx';
import { Entries } from './entries.tsx';
import { NoEntries } from './no-entries.tsx';

const optionsOf = (texts: Record<string, string>) => [
  { value: '', text: 'All' },
  ...Object.entries(texts).map(([value, text]) => ({ value, text })),
];

/** The addresses that get no mail. */
export function Page() {
  const { api, project } = useProject();
  const [filter, set] = useAddress({ search: '', reason: '', scope: '', cursor: '' });
  const [isAdding, setAdding] = useState(false);
  const [removed, setRemoved] = useState<readonly string[]>([]);
  const { search, reason, scope, cursor } = filter;
  const query = {
    limit: 50,
    ...(cursor && { cursor }),
    ...(search && { search }),
    ...(reason && { reason: reason as Suppression['reason'] }),
    ...(scope && { scope: scope as Suppression['scope'] }),
  };
  const list = useRead([project.id, 'suppression', query], () =>
    api.get('/suppression-list', { query }),
  );
  return (
    <>
      <PageHead
        title="Suppression list"
        project={project.name}
        actions={
          <Button kind="primary" onClick={() => setAdding(true)}>
            Add addresses
          </Button>
        }
      />
      <div className="toolbar" role="search">
        <SearchField
          label="Search addresses"
          value={search}
          onChange={(text) => set({ search: text }, true)}
        />
        <SelectField
          label="Reason"
          options={optionsOf(suppressionReasons)}
          value={reason}
          onChange={(next) => set({ reason: next })}
        />
        <SelectField
          label="Effect"
          options={optionsOf(suppressionScopes)}
          value={scope}
          onChange={(next) => set({ scope: next })}
        />
      </div>
      <Loaded query={list}>
        {({ data, total, cursor: next }) => (
          <>
            {data.length === 0 ? (
              <NoEntries search={search} isFiltered={reason !== '' || scope !== ''} />
            ) : (
              <Entries
                entries={data.filter(({ email }) => email === null || !removed.includes(email))}
                onHide={(email) => setRemoved((all) => [...all, email])}
                onShow={(email) => setRemoved((all) => all.filter((one) => one !== email))}
              />
            )}
            <Pager
              shown={cursor ? '' : counted(total, 'address', 'addresses')}
              onFirst={cursor ? () => set({ cursor: '' }) : null}
              onNext={next ? () => set({ cursor: next }) : null}
            />
          </>
        )}
      </Loaded>
      {isAdding && <AddAddresses onClose={() => setAdding(false)} />}
    </>
  );
}
