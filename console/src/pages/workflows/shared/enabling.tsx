import { type ReactNode, useState } from 'react';
import { EverpostError } from '../../../api/api.ts';
import { readAgain } from '../../../api/queries.ts';
import { useNotify } from '../../../design/notices.tsx';
import { ProblemAlert } from '../../../design/problem-alert.tsx';
import { useProject } from '../../../shell/project.ts';

/** Enables and disables a workflow. If a part of the workflow is missing, `alert` names it. */
export function useEnabling(id: string, initial: boolean) {
  const { api, project } = useProject();
  const { say, fail } = useNotify();
  const [changedTo, setChangedTo] = useState<boolean | null>(null);
  const [isBusy, setBusy] = useState(false);
  const [refused, setRefused] = useState<EverpostError | null>(null);
  const isEnabled = changedTo ?? initial;
  const change = async () => {
    if (isBusy) return;
    setBusy(true);
    setRefused(null);
    try {
      const body = { enabled: !isEnabled };
      const { enabled } = await api.patch('/workflows/{id}', { path: { id }, body });
      setChangedTo(enabled);
      await readAgain(project.id, 'workflows');
      say(enabled ? 'Enabled. Contacts enter from now on.' : 'Disabled. Those inside go on.');
    } catch (error) {
      if (error instanceof EverpostError && error.errors.length > 0) setRefused(error);
      else fail(error);
    } finally {
      setBusy(false);
    }
  };
  const alert: ReactNode = refused && <Missing error={refused} />;
  return { isEnabled, isBusy, change: () => void change(), alert };
}

/** The reasons why a workflow cannot be enabled, without the ids of its steps. */
function Missing({ error }: { error: EverpostError }) {
  if (error.code !== 'WORKFLOW_INVALID') return <ProblemAlert error={error} />;
  return (
    <div className="alert" role="alert">
      <strong>This workflow cannot be enabled yet.</strong>
      <ul>
        {error.errors.map(({ field, message }) => (
          <li key={field + message}>{message}</li>
        ))}
      </ul>
      <span className="second small">
        <code>{error.code}</code>
      </span>
    </div>
  );
}
