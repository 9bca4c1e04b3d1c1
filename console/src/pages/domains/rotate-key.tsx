import type { Domain } from '../../api/api.ts';
import { readAgain } from '../../api/queries.ts';
import { Button } from '../../design/button.tsx';
import { useAction } from '../../design/use-action.ts';
import { useProject } from '../../shell/project.ts';

/**
 * Creates the next DKIM key. The current key signs until the record of the next key is found in
 * DNS.
 */
export function RotateKey({ domain: { id, dkim } }: { domain: Domain }) {
  const { api, project, adminOnly } = useProject();
  const rotate = useAction(async () => {
    await api.post('/domains/{id}/rotate-key', { path: { id } });
    await readAgain(project.id, 'domains');
  }, 'The next key is made. Publish its DNS record; until then, the present key signs.');
  return (
    <Button
      isBusy={rotate.isBusy}
      disabledBecause={adminOnly ?? (dkim?.next ? 'The next key waits for DNS already.' : null)}
      onClick={() => void rotate.run()}
    >
      Rotate key
    </Button>
  );
}
