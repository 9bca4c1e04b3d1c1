import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { EverpostError } from '../../api/api.ts';
import { readAgain } from '../../api/queries.ts';
import { Button } from '../../design/button.tsx';
import { useConfirm } from '../../design/confirm.tsx';
import { Dialog } from '../../design/dialog.tsx';
import { useProject } from '../../shell/project.ts';

interface Use {
  id: string;
  name: string;
}

type Uses = Partial<Record<'campaigns' | 'segments' | 'workflows', readonly Use[]>>;

const kinds = [
  ['campaigns', 'Campaign'],
  ['segments', 'Segment'],
  ['workflows', 'Workflow'],
] as const;

/** Deletes a segment. If something uses it, that is listed with links. */
export function DeleteSegment({
  segment: { id, name },
  onDeleted,
}: {
  segment: Use;
  onDeleted: () => void;
}) {
  const { api, project } = useProject();
  const confirm = useConfirm();
  const [uses, setUses] = useState<Uses | null>(null);
  const ask = () =>
    confirm({
      title: `Delete ${name}?`,
      text: 'The segment is lost, with the list of its members. The contacts stay.',
      verb: 'Delete',
      async send() {
        try {
          await api.delete('/segments/{id}', { path: { id } });
        } catch (error) {
          if (!(error instanceof EverpostError) || error.code !== 'SEGMENT_IN_USE') throw error;
          setUses(error.details);
          return;
        }
        await readAgain(project.id, 'segments');
        onDeleted();
      },
    });
  return (
    <>
      <Button kind="danger" onClick={ask}>
        Delete
      </Button>
      {uses && <InUse name={name} uses={uses} onClose={() => setUses(null)} />}
    </>
  );
}

function InUse({ name, uses, onClose }: { name: string; uses: Uses; onClose: () => void }) {
  const { path } = useProject();
  return (
    <Dialog
      title={`${name} is in use`}
      description="It can be deleted when nothing uses it any more."
      onClose={onClose}
    >
      <ul className="stack-list" aria-label="Used by">
        {kinds.flatMap(([kind, word]) =>
          (uses[kind] ?? []).map((use) => (
            <li key={use.id}>
              {word} <Link to={path(`${kind}/${use.id}`)}>{use.name}</Link>
            </li>
          )),
        )}
      </ul>
      <div className="actions">
        <Button onClick={onClose}>Close</Button>
      </div>
    </Dialog>
  );
}
