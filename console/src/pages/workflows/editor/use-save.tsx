import { type Dispatch, useState } from 'react';
import { etagOf, type WorkflowGraphInput } from '../../../../../client/everpost.ts';
import { type Draft, dropDraft } from '../../../api/drafts.ts';
import { readAgain } from '../../../api/queries.ts';
import { Conflict } from '../../../editing/conflict.tsx';
import { useNotify } from '../../../design/notices.tsx';
import type { EditAction } from '../../../journey/editing.ts';
import type { Journey } from '../../../journey/graph.ts';
import { useProject } from '../../../shell/project.ts';

/** Returns a graph as text, so that two graphs can be compared. */
const storedText = (journey: Journey) => JSON.stringify(journey);

/**
 * Saves the graph. If another user has saved meanwhile, a dialog asks before the graph of this user
 * is overwritten.
 * @param draft unsaved work, which may be based on an older graph than the saved graph
 */
export function useSave({
  id,
  journey,
  saved,
  draft,
  dispatch,
}: {
  id: string;
  journey: Journey;
  saved: Draft<Journey>;
  draft: Draft<Journey> | null;
  dispatch: Dispatch<EditAction>;
}) {
  const { api, project } = useProject();
  const { say } = useNotify();
  const [base, setBase] = useState({ etag: draft?.etag ?? saved.etag, value: saved.value });
  const [isBusy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>(null);
  const read = async () => {
    const graph = await api.get('/workflows/{id}/graph', { path: { id } });
    return { etag: etagOf(graph), value: graph };
  };
  const send = async (etag: string) => {
    const body = journey as unknown as WorkflowGraphInput;
    await api.put('/workflows/{id}/graph', { path: { id }, body, ifMatch: etag });
    const stored = await read();
    setBase({ etag: stored.etag, value: journey });
    await readAgain(project.id, 'workflows');
    say('Saved. People inside stay on their version.');
  };
  const attempt = async (work: () => Promise<unknown>) => {
    if (isBusy) return false;
    setBusy(true);
    setError(null);
    try {
      await work();
      return true;
    } catch (failure) {
      setError(failure);
      return false;
    } finally {
      setBusy(false);
    }
  };
  const loadTheirs = async () => {
    const theirs = await read();
    setBase(theirs);
    dropDraft(id);
    dispatch({ type: 'load', journey: theirs.value });
  };
  const keepMine = async () => {
    const { etag } = await read();
    await send(etag);
  };
  return {
    save: { run: () => attempt(() => send(base.etag)), isBusy, error },
    base,
    isChanged: storedText(journey) !== storedText(base.value),
    conflict: (
      <Conflict error={error} onLoad={() => attempt(loadTheirs)} onKeep={() => attempt(keepMine)} />
    ),
  };
}
