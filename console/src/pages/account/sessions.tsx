import { accountApi, type Session } from '../../api/api.ts';
import { readAgain, useRead } from '../../api/queries.ts';
import { base } from '../../api/session.ts';
import { Button } from '../../design/button.tsx';
import { Card, Loaded, State, Time } from '../../design/parts.tsx';
import { Table } from '../../design/table.tsx';
import { useAction } from '../../design/use-action.ts';
import { textOfBrowser, textOfMethod } from './session-text.ts';

/** The places where the user is logged in. */
export function Sessions() {
  const sessions = useRead(['sessions'], () => accountApi.get('/users/@me/sessions'));
  const all = useAction(async () => {
    await accountApi.get('/auth/logout');
    location.assign(`${base}/auth/login`);
  });
  return (
    <Card
      label="Sessions"
      actions={
        <Button isSmall isBusy={all.isBusy} onClick={() => void all.run()}>
          Log out everywhere
        </Button>
      }
    >
      <Loaded query={sessions} lines={2}>
        {(rows) => (
          <Table
            label="Sessions"
            rows={rows}
            keyOf={({ id }) => id}
            columns={[
              {
                name: 'Browser',
                cell: ({ userAgent }) => (
                  <span title={userAgent ?? undefined}>{textOfBrowser(userAgent)}</span>
                ),
              },
              { name: 'Address', cell: ({ ip }) => ip ?? '–' },
              { name: 'Logged in with', cell: textOfMethod },
              { name: 'Last seen', cell: ({ lastSeenAt }) => <Time at={lastSeenAt} /> },
              { name: 'End', hidesName: true, cell: (session) => <End session={session} /> },
            ]}
          />
        )}
      </Loaded>
    </Card>
  );
}

function End({ session: { id, current } }: { session: Session }) {
  const end = useAction(async () => {
    await accountApi.delete('/users/@me/sessions/{id}', { path: { id } });
    await readAgain('sessions');
  }, 'The session has ended.');
  if (current) return <State tone="good">This session</State>;
  return (
    <Button isSmall isBusy={end.isBusy} onClick={() => void end.run()}>
      End session
    </Button>
  );
}
