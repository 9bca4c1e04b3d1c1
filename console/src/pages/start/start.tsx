import { useNavigate } from '@tanstack/react-router';
import { remember, useMemory } from '../../first-hour/memory.ts';
import { useSteps } from '../../first-hour/steps.ts';
import { Button } from '../../design/button.tsx';
import { PageHead } from '../../design/page-head.tsx';
import { State } from '../../design/parts.tsx';
import { useProject } from '../../shell/project.ts';
import { useUser } from '../../shell/user.ts';
import { ApiKey } from './api-key.tsx';
import { Contacts, FirstWorkflow } from './next-steps.tsx';
import { Domain } from './domain.tsx';
import { FirstEmail } from './first-email.tsx';
import './start.css';

/** The page `Get started`. It leads from the project's key to its first workflow. */
export function Page() {
  const { project, path, api } = useProject();
  const { email } = useUser();
  const { isHidden = false } = useMemory(project.id);
  const navigate = useNavigate();
  const steps = useSteps({ api, projectId: project.id, email }, { isLive: true });
  const done = steps && Object.values(steps).filter(Boolean).length;
  const hide = () => {
    remember(project.id, { isHidden: true });
    void navigate({ to: path('') });
  };
  return (
    <>
      <PageHead
        title="Get started"
        project={project.name}
        state={
          done !== undefined && (
            <State tone={done === 5 ? 'good' : 'neutral'}>{done} of 5 done</State>
          )
        }
        actions={!isHidden && <Button onClick={hide}>Hide</Button>}
      />
      <ApiKey isDone={steps?.key} />
      <Domain isDone={steps?.domain} />
      <FirstEmail isDone={steps?.email} />
      <div className="columns">
        <Contacts isDone={steps?.contacts} />
        <FirstWorkflow isDone={steps?.workflow} />
      </div>
    </>
  );
}
