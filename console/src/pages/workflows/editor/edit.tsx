import { useState } from 'react';
import { etagOf } from '../../../../../client/everpost.ts';
import { EverpostError } from '../../../api/api.ts';
import { type Draft, readDraft } from '../../../api/drafts.ts';
import { useRead } from '../../../api/queries.ts';
import { Loaded } from '../../../design/parts.tsx';
import type { Journey } from '../../../journey/graph.ts';
import { useParam } from '../../../shell/address.ts';
import { NotFound } from '../../../shell/not-found-page.tsx';
import { useProject } from '../../../shell/project.ts';
import { Editor } from './editor.tsx';
import '../shared/workflows.css';

/** The editor of a workflow. Restores unsaved work of this browser. */
export function Page() {
  const { api, project } = useProject();
  const id = useParam('workflowId');
  const [isLoaded, setLoaded] = useState(false);
  const stored = useRead(
    [project.id, 'workflows', id, 'edited'],
    async () => {
      const path = { id };
      const [graph, workflow] = await Promise.all([
        api.get('/workflows/{id}/graph', { path }),
        api.get('/workflows/{id}', { path }),
      ]);
      setLoaded(true);
      return { etag: etagOf(graph), journey: graph, isEnabled: workflow.enabled };
    },
    // The graph is read once, because a later version must not replace the edited graph.
    { isEnabled: !isLoaded },
  );
  const { error } = stored;
  if (error instanceof EverpostError && [404, 422].includes(error.status)) return <NotFound />;
  return (
    <Loaded query={stored}>
      {({ etag, journey, isEnabled }) => {
        const draft = readDraft<Journey>(id);
        const saved: Draft<Journey> = { etag, value: journey };
        return <Editor key={etag} id={id} saved={saved} draft={draft} isEnabled={isEnabled} />;
      }}
    </Loaded>
  );
}
