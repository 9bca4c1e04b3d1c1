import { useState } from 'react';
import { EverpostError, type SuppressionOfAddress } from '../../api/api.ts';
import { Button } from '../../design/button.tsx';
import { Empty } from '../../design/parts.tsx';
import { useAction } from '../../design/use-action.ts';
import { useProject } from '../../shell/project.ts';
import { Entries } from './entries.tsx';

/**
 * Shown if the list is empty. If the user has searched for an address, its entry may still exist.
 * The list keeps only a hash of an erased contact's address, so such an entry is found only by the
 * whole address.
 */
export function NoEntries({ search, isFiltered }: { search: string; isFiltered: boolean }) {
  if (search.includes('@')) return <LookUp key={search} email={search} />;
  if (search !== '' || isFiltered) return <Empty>No address fits this search.</Empty>;
  return (
    <Empty>
      The addresses on this list get no mail. They come here after a bounce, a complaint or an
      erasure; you can add others.
    </Empty>
  );
}

function LookUp({ email }: { email: string }) {
  const { api } = useProject();
  const [entry, setEntry] = useState<SuppressionOfAddress | 'none' | null>(null);
  const [isRemoved, setRemoved] = useState(false);
  const lookUp = useAction(async () => {
    try {
      setEntry(await api.get('/suppression-list/{email}', { path: { email } }));
    } catch (error) {
      if (!(error instanceof EverpostError) || error.status !== 404) throw error;
      setEntry('none');
    }
  });
  if (entry === 'none') return <Empty>{email} is not on the list, nor a hash of it.</Empty>;
  if (entry) {
    return (
      <Entries
        entries={isRemoved ? [] : [entry]}
        onHide={() => setRemoved(true)}
        onShow={() => setRemoved(false)}
      />
    );
  }
  return (
    <Empty
      action={
        <Button isBusy={lookUp.isBusy} onClick={() => void lookUp.run()}>
          Look for a hash of it
        </Button>
      }
    >
      No address on the list has {email} in it. The address of an erased contact is kept as a hash
      only.
    </Empty>
  );
}
