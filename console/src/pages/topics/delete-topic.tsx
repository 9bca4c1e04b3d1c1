import type { Topic } from '../../api/api.ts';
import { readAgain } from '../../api/queries.ts';
import { Button } from '../../design/button.tsx';
import { mailUses, useDeletion } from '../../editing/deletion.tsx';
import { useProject } from '../../shell/project.ts';

interface StepUse {
  id: string;
  name: string;
  workflowId: string;
  workflowName: string;
}

/**
 * Deletes a topic and the contacts' choices of it. If the topic is in use, a dialog links to its
 * uses.
 */
export function DeleteTopic({ topic: { id, name } }: { topic: Topic }) {
  const { api, project, path } = useProject();
  const { ask, dialog } = useDeletion();
  const remove = () =>
    ask({
      name,
      text: 'What contacts have chosen for this topic is lost. The log of their consent stays.',
      async send() {
        await api.delete('/topics/{id}', { path: { id } });
        await readAgain(project.id, 'topics');
      },
      usesIn: (details) => [
        ...mailUses(details, path),
        ...((details['workflowSteps'] as StepUse[] | undefined) ?? []).map((step) => ({
          text: `Workflow ${step.workflowName}: ${step.name}`,
          to: path(`workflows/${step.workflowId}`),
        })),
      ],
    });
  return (
    <>
      <Button isSmall onClick={remove}>
        Delete
      </Button>
      {dialog}
    </>
  );
}
