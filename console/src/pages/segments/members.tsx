import { useState } from 'react';
import { readAgain, useLive } from '../../api/queries.ts';
import { Button } from '../../design/button.tsx';
import { Card, Empty, Loaded } from '../../design/parts.tsx';
import { Pager } from '../../design/table.tsx';
import { useAction } from '../../design/use-action.ts';
import { useAddress } from '../../shell/address.ts';
import { useProject } from '../../shell/project.ts';
import { count, counted } from '../../words/numbers.ts';
import { ContactTable } from '../contacts/contact-table.tsx';
import { useChosen } from '../contacts/use-chosen.ts';
import { AddMembers } from './add-members.tsx';

const pageSize = 50;

/** The contacts in the segment now. Hand-picked members can be removed. */
export function Members({ id, isChosen }: { id: string; isChosen: boolean }) {
  const { api, project } = useProject();
  const [address, set] = useAddress({ page: '1', sort: 'createdAt', dir: 'desc' });
  const [isAdding, setAdding] = useState(false);
  const page = Number(address.page) || 1;
  const query = {
    page,
    pageSize,
    sort: address.sort === 'email' ? 'email' : 'createdAt',
    dir: address.dir === 'asc' ? 'asc' : 'desc',
  } as const;
  const members = useLive({
    key: [project.id, 'segments', 'members', id, query],
    read: () => api.get('/segments/{id}/contacts', { path: { id }, query }),
  });
  const chosen = useChosen(`${id} ${page}`, {}, 0);
  const these = chosen.chosen?.kind === 'these' ? chosen.chosen.emails : [];
  return (
    <Card
      label={members.data ? counted(members.data.total, 'member') : 'Members'}
      actions={
        isChosen && (
          <>
            {these.length > 0 && <Remove id={id} emails={these} onDone={chosen.clear} />}
            <Button isSmall onClick={() => setAdding(true)}>
              Add members
            </Button>
          </>
        )
      }
    >
      <Loaded query={members}>
        {({ data, total, totalPages }) =>
          data.length === 0 ? (
            <Empty>{isChosen ? 'Nobody is in this segment yet.' : 'No contact matches now.'}</Empty>
          ) : (
            <>
              <ContactTable
                label="Members"
                contacts={data}
                order={address}
                onOrder={set}
                {...(isChosen && {
                  chosen: chosen.ids,
                  onChoose: chosen.choose,
                  last: {
                    name: 'Remove',
                    hidesName: true,
                    // Chosen members are removed together, by the button above.
                    cell: ({ email }) => these.length === 0 && <Remove id={id} emails={[email]} />,
                  },
                })}
              />
              {totalPages > 1 && (
                <Pager
                  shown={`${count((page - 1) * pageSize + 1)}–${count((page - 1) * pageSize + data.length)} of ${count(total)}`}
                  onPrevious={page > 1 ? () => set({ page: String(page - 1) }) : null}
                  onNext={page < totalPages ? () => set({ page: String(page + 1) }) : null}
                />
              )}
            </>
          )
        }
      </Loaded>
      {isAdding && <AddMembers id={id} onClose={() => setAdding(false)} />}
    </Card>
  );
}

function Remove({
  id,
  emails,
  onDone,
}: {
  id: string;
  emails: readonly string[];
  onDone?: () => void;
}) {
  const { api, project } = useProject();
  const remove = useAction(async () => {
    await api.delete('/segments/{id}/members', { path: { id }, body: { emails: [...emails] } });
    onDone?.();
    await readAgain(project.id, 'segments');
  });
  return (
    <Button isSmall isBusy={remove.isBusy} onClick={() => void remove.run()}>
      Remove
    </Button>
  );
}
