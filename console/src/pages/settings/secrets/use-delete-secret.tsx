import { type ReactNode, useState } from 'react';
import { EverpostError, type Secret } from '../../../api/api.ts';
import { readAgain } from '../../../api/queries.ts';
import { Button } from '../../../design/button.tsx';
import { Dialog } from '../../../design/dialog.tsx';
import { useNotify } from '../../../design/notices.tsx';
import { useProject } from '../../../shell/project.ts';
import { UsedIn } from './used-in.tsx';

/** Deletes a secret, with `Undo`. If the secret is in use, a dialog links to its uses. */
export function useDeleteSecret(): {
  /** Names of secrets whose deletion the user can still undo. */
  hidden: ReadonlySet<string>;
  run: (secret: Secret) => void;
  dialog: ReactNode;
} {
  const { api, project } = useProject();
  const { undoable } = useNotify();
  const [hidden, setHidden] = useState<ReadonlySet<string>>(new Set());
  const [inUse, setInUse] = useState<Secret | null>(null);
  const hide = (name: string) => setHidden((before) => new Set([...before, name]));
  const show = (name: string) =>
    setHidden((before) => new Set([...before].filter((one) => one !== name)));
  const send = async (secret: Secret) => {
    const { name } = secret;
    try {
      await api.delete('/secrets/{name}', { path: { name } });
    } catch (error) {
      if (!(error instanceof EverpostError) || error.code !== 'SECRET_IN_USE') throw error;
      const { usedIn } = error.details as Pick<Secret, 'usedIn'>;
      setInUse({ ...secret, usedIn });
    }
    await readAgain(project.id, 'secrets');
    show(name);
  };
  const close = () => setInUse(null);
  return {
    hidden,
    run(secret) {
      if (secret.usedIn.length > 0) return setInUse(secret);
      hide(secret.name);
      undoable(
        `${secret.name} is deleted.`,
        () => send(secret),
        () => show(secret.name),
      );
    },
    dialog: inUse && (
      <Dialog
        title={`${inUse.name} is in use`}
        description="Remove it there first. Nothing was deleted."
        onClose={close}
      >
        <UsedIn secret={inUse} />
        <div className="actions">
          <Button onClick={close}>Close</Button>
        </div>
      </Dialog>
    ),
  };
}
