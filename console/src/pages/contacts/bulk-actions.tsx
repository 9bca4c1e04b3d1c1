import { type ReactNode, useState } from 'react';
import { Button } from '../../design/button.tsx';
import { useConfirm } from '../../design/confirm.tsx';
import { useAction } from '../../design/use-action.ts';
import { useProject } from '../../shell/project.ts';
import { counted } from '../../words/numbers.ts';
import { AddToSegment } from './add-to-segment.tsx';
import { BulkProgress } from './bulk-progress.tsx';
import { type Chosen, numberOf } from './use-chosen.ts';

type Operation = 'subscribe' | 'unsubscribe' | 'delete';

function bodyOf(chosen: Chosen) {
  return chosen.kind === 'these'
    ? { mode: 'ids' as const, contactIds: [...chosen.ids] }
    : { mode: 'query' as const, filter: chosen.filter };
}

/** The actions on the chosen contacts. `children` offers to choose further contacts. */
export function BulkActions({
  chosen,
  onDone,
  children,
}: {
  chosen: Chosen | null;
  /** Called when an action has begun, to clear the choice. */
  onDone: () => void;
  children: ReactNode;
}) {
  const { api } = useProject();
  const confirm = useConfirm();
  const [jobId, setJobId] = useState<string | null>(null);
  const [isAdding, setAdding] = useState<Chosen | null>(null);
  const begin = async (operation: Operation, body: ReturnType<typeof bodyOf>) => {
    const accepted = await api.post(`/contacts/bulk-${operation}`, { body });
    setJobId(accepted.jobId);
    onDone();
  };
  const subscribe = useAction(begin);
  const askDelete = (who: Chosen) =>
    confirm({
      title: `Delete ${counted(numberOf(who), 'contact')}?`,
      text: `Their events, emails, memberships and executions are deleted, too. ${counted(numberOf(who), 'contact')} will be lost.`,
      verb: 'Delete',
      send: () => begin('delete', bodyOf(who)),
    });
  return (
    <>
      {chosen && (
        <div className="chosen-bar" role="group" aria-label="Chosen contacts">
          <strong>{counted(numberOf(chosen), 'contact')} chosen</strong>
          {children}
          <Button
            isSmall
            isBusy={subscribe.isBusy}
            onClick={() => void subscribe.run('subscribe', bodyOf(chosen))}
          >
            Subscribe
          </Button>
          <Button
            isSmall
            isBusy={subscribe.isBusy}
            onClick={() => void subscribe.run('unsubscribe', bodyOf(chosen))}
          >
            Unsubscribe
          </Button>
          <Button isSmall onClick={() => setAdding(chosen)}>
            Add to segment
          </Button>
          <Button isSmall kind="danger" onClick={() => askDelete(chosen)}>
            Delete
          </Button>
        </div>
      )}
      {isAdding && (
        <AddToSegment chosen={isAdding} onClose={() => setAdding(null)} onDone={onDone} />
      )}
      {jobId && <BulkProgress jobId={jobId} onClose={() => setJobId(null)} />}
    </>
  );
}
