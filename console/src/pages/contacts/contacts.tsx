import './contacts.css';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { type ContactList, readFile } from '../../api/api.ts';
import { Button } from '../../design/button.tsx';
import { SelectField } from '../../design/fields.tsx';
import { PageHead } from '../../design/page-head.tsx';
import { Empty, Loaded } from '../../design/parts.tsx';
import { SearchField } from '../../design/lists/search-field.tsx';
import { saveFile } from '../../shell/save-file.ts';
import { Pager } from '../../design/table.tsx';
import { useAction } from '../../design/use-action.ts';
import { FilterBuilder } from '../../filter/filter-builder.tsx';
import { useProject } from '../../shell/project.ts';
import { count, counted } from '../../words/numbers.ts';
import { AddContact } from './add-contact.tsx';
import { BulkActions } from './bulk-actions.tsx';
import { ColumnsMenu, useColumns } from './columns.tsx';
import { type ContactFilter, pageSize, useContactAddress, useContactList } from './contact-list.ts';
import { ContactTable } from './contact-table.tsx';
import { useChosen } from './use-chosen.ts';

const subscriptions = [
  { value: '', text: 'All' },
  { value: 'true', text: 'Subscribed' },
  { value: 'false', text: 'Unsubscribed' },
];

export function Page() {
  const shown = useContactAddress();
  const { address, set, condition, filter } = shown;
  const { list, total } = useContactList(shown);
  const columns = useColumns();
  const [isAdding, setAdding] = useState(false);
  const [isFiltering, setFiltering] = useState(condition !== null);
  const chosen = useChosen(JSON.stringify([filter, address.cursor]), filter, total ?? 0);
  return (
    <>
      <Head filter={filter} onAdd={() => setAdding(true)} />
      <div className="toolbar">
        <SearchField
          label="Search contacts"
          placeholder="Part of an address"
          value={address.search}
          onChange={(search) => set({ search }, true)}
        />
        <SelectField
          label="Subscription"
          options={subscriptions}
          value={address.subscribed}
          onChange={(subscribed) => set({ subscribed })}
        />
        <Button aria-expanded={isFiltering} onClick={() => setFiltering(!isFiltering)}>
          Filter
        </Button>
        <ColumnsMenu columns={columns} />
        {!isFiltering && <Total total={total} />}
      </div>
      {isFiltering && (
        <FilterBuilder value={condition} total={total} onChange={shown.setCondition} />
      )}
      <BulkActions chosen={chosen.chosen} onDone={chosen.clear}>
        {!chosen.isAll && total !== undefined && (
          <Button isSmall onClick={chosen.chooseAll}>
            {`All ${count(total)} matching`}
          </Button>
        )}
      </BulkActions>
      <Loaded query={list}>
        {({ data }) =>
          data.length === 0 ? (
            <NoContacts isFiltered={Object.keys(filter).length > 0} onAdd={() => setAdding(true)} />
          ) : (
            <>
              <ContactTable
                label="Contacts"
                contacts={data}
                fields={columns.shown}
                order={address}
                onOrder={set}
                chosen={chosen.isAll ? new Set(data.map(({ id }) => id)) : chosen.ids}
                onChoose={chosen.choose}
              />
              <ListPager shown={shown} list={list.data!} total={total} />
            </>
          )
        }
      </Loaded>
      {isAdding && <AddContact onClose={() => setAdding(false)} />}
    </>
  );
}

function Head({ filter, onAdd }: { filter: ContactFilter; onAdd: () => void }) {
  const { project, path } = useProject();
  const save = useAction(async () =>
    saveFile('contacts.csv', await readFile(project.id, '/contacts/export', filter)),
  );
  return (
    <PageHead
      title="Contacts"
      project={project.name}
      actions={
        <>
          <Button isBusy={save.isBusy} onClick={() => void save.run()}>
            Export
          </Button>
          <Link className="button" to={path('contacts/import')}>
            Import
          </Link>
          <Button kind="primary" onClick={onAdd}>
            Add contact
          </Button>
        </>
      }
    />
  );
}

function Total({ total }: { total: number | undefined }) {
  return (
    <span role="status" className="second total">
      {total !== undefined && counted(total, 'contact')}
    </span>
  );
}

function ListPager({
  shown: { address, set },
  list,
  total,
}: {
  shown: ReturnType<typeof useContactAddress>;
  list: ContactList;
  total: number | undefined;
}) {
  const page = Number(address.page) || 1;
  const first = (page - 1) * pageSize + 1;
  const { cursor } = list;
  if (page === 1 && cursor === undefined) return null;
  return (
    <Pager
      shown={`${count(first)}–${count(first + list.data.length - 1)}${total === undefined ? '' : ` of ${count(total)}`}`}
      onFirst={page > 1 ? () => set({ cursor: '', page: '1' }) : null}
      onNext={cursor === undefined ? null : () => set({ cursor, page: String(page + 1) })}
    />
  );
}

function NoContacts({ isFiltered, onAdd }: { isFiltered: boolean; onAdd: () => void }) {
  if (isFiltered) return <Empty>No contact matches.</Empty>;
  return (
    <Empty
      action={
        <Button kind="primary" onClick={onAdd}>
          Add the first contact
        </Button>
      }
    >
      Contacts are the people who get your mail. Add one, import a CSV file, or let your program
      send events: each new address becomes a contact.
    </Empty>
  );
}
