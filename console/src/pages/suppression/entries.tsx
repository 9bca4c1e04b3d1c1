import { Link } from '@tanstack/react-router';
import type { Suppression } from '../../api/api.ts';
import { readAgain } from '../../api/queries.ts';
import { Button } from '../../design/button.tsx';
import { useNotify } from '../../design/notices.tsx';
import { Time } from '../../design/parts.tsx';
import { Table } from '../../design/table.tsx';
import { useProject } from '../../shell/project.ts';
import { suppressionScopes, textOfSuppression } from '../../words/reasons.ts';
import { fullDay } from '../../words/times.ts';

/**
 * Entries of the suppression list. A removed entry is hidden at once, and the removal can be undone
 * for some seconds.
 */
export function Entries({
  entries,
  onHide,
  onShow,
}: {
  entries: readonly Suppression[];
  onHide: (email: string) => void;
  onShow: (email: string) => void;
}) {
  const { path } = useProject();
  const remove = useRemove(onHide, onShow);
  return (
    <Table
      label="Suppression list"
      rows={entries}
      keyOf={({ email, createdAt }) => `${email} ${createdAt}`}
      columns={[
        {
          name: 'Address',
          cell: ({ email }) => email ?? <span className="second">only a hash is kept</span>,
        },
        {
          name: 'Why',
          cell: ({ reason, emailId }) => (
            <>
              {textOfSuppression(reason)} <code>{reason}</code>{' '}
              {emailId !== null && <Link to={path(`emails/${emailId}`)}>The mail</Link>}
            </>
          ),
        },
        { name: 'Effect', cell: ({ scope }) => suppressionScopes[scope] },
        { name: 'Since', cell: ({ createdAt }) => <Time at={createdAt} /> },
        { name: 'Ends', cell: ({ until }) => (until === null ? 'never' : fullDay(until)) },
        {
          name: 'Actions',
          hidesName: true,
          cell: ({ email }) => (
            <Button
              isSmall
              disabledBecause={
                email === null && 'Search for the whole address, then remove its entry.'
              }
              onClick={() => email !== null && remove(email)}
            >
              Remove
            </Button>
          ),
        },
      ]}
    />
  );
}

/** Removes an address from the list. The removal subscribes no contact. */
function useRemove(
  onHide: (email: string) => void,
  onShow: (email: string) => void,
): (email: string) => void {
  const { api, project } = useProject();
  const { undoable } = useNotify();
  return (email) => {
    onHide(email);
    undoable(
      `${email} is removed. The contact stays unsubscribed if it was.`,
      async () => {
        await api.delete('/suppression-list/{email}', { path: { email } });
        await readAgain(project.id, 'suppression');
        onShow(email);
      },
      () => onShow(email),
    );
  };
}
