import { useState } from 'react';
import { EverpostError } from '../../api/api.ts';
import { readAgain } from '../../api/queries.ts';
import { Button } from '../../design/button.tsx';
import { useConfirm } from '../../design/confirm.tsx';
import { Dialog } from '../../design/dialog.tsx';
import { useNotify } from '../../design/notices.tsx';
import { useAction } from '../../design/use-action.ts';
import { type Usage, Users } from '../../editing/users.tsx';
import { useProject } from '../../shell/project.ts';
import { counted } from '../../words/numbers.ts';

/** Deletes all events of a name. If the name is in use, links to its uses are shown. */
export function DeleteEvents({ name }: { name: string }) {
  const { api, project } = useProject();
  const { say } = useNotify();
  const confirm = useConfirm();
  const [used, setUsed] = useState<Usage | null>(null);
  const path = { eventName: name };
  const ask = useAction(async () => {
    const usage = await api.get('/events/{eventName}/usage', { path });
    if (!usage.canDelete) return setUsed(usage);
    return confirm({
      title: `Delete ${name}?`,
      text: `${counted(usage.totalCount, 'event')} of ${counted(usage.uniqueContacts, 'contact')} are lost.`,
      verb: 'Delete',
      async send() {
        try {
          const { deletedCount } = await api.delete('/events/{eventName}', { path });
          say(`${counted(deletedCount, 'event')} deleted.`);
        } catch (error) {
          if (!(error instanceof EverpostError) || error.code !== 'EVENT_IN_USE') throw error;
          setUsed(await api.get('/events/{eventName}/usage', { path }));
        }
        await readAgain(project.id, 'events');
      },
    });
  });
  return (
    <>
      <Button isSmall isBusy={ask.isBusy} onClick={() => void ask.run()}>
        Delete
      </Button>
      {used && <Kept name={name} usage={used} onClose={() => setUsed(null)} />}
    </>
  );
}

/** Shown if the events of a name cannot be deleted, because the name is in use. */
function Kept({ name, usage, onClose }: { name: string; usage: Usage; onClose: () => void }) {
  return (
    <Dialog title={`${name} cannot be deleted`} onClose={onClose}>
      {isUsed(usage) ? (
        <>
          <p>Its events can be deleted when nothing uses them any more.</p>
          <Users usage={usage} />
        </>
      ) : (
        <p>Everpost records this event itself.</p>
      )}
      <div className="actions">
        <Button onClick={onClose}>Close</Button>
      </div>
    </Dialog>
  );
}

const isUsed = ({ usedInSegments, usedInWorkflows, usedInCampaigns }: Usage) =>
  usedInSegments.length + usedInWorkflows.length + usedInCampaigns.length > 0;
