import { useState } from 'react';
import type { ExecutionDetails } from '../../../api/api.ts';
import { Button } from '../../../design/button.tsx';
import { Dialog } from '../../../design/dialog.tsx';
import { SelectField } from '../../../design/fields.tsx';
import { Form, useForm } from '../../../design/form.tsx';
import { useAction } from '../../../design/use-action.ts';
import { useExecution } from './use-execution.ts';
import { branchesBehind, type VersionGraph } from './version-graph.ts';

/** Makes an execution skip its current step. If the step has branches, the user chooses one. */
export function SkipStep({
  execution,
  graph,
}: {
  execution: ExecutionDetails;
  graph: VersionGraph | undefined;
}) {
  const [isChoosing, setChoosing] = useState(false);
  const { api, at, reload } = useExecution(execution);
  const failed = execution.stepExecutions.findLast(({ status }) => status === 'FAILED');
  const stepId = execution.status === 'FAILED' ? failed?.stepId : execution.currentStepId;
  const branches = branchesBehind(graph, stepId ?? '');
  const send = async (branch?: string) => {
    const body = branch === undefined ? {} : { branch };
    await api.post('/workflows/{id}/executions/{executionId}/skip', { ...at, body });
    await reload();
  };
  const skip = useAction(send, 'The step was skipped.');
  return (
    <>
      <Button
        isBusy={skip.isBusy}
        onClick={() => (branches.length > 0 ? setChoosing(true) : void skip.run())}
      >
        Skip step
      </Button>
      {isChoosing && (
        <ChooseBranch branches={branches} send={send} onClose={() => setChoosing(false)} />
      )}
    </>
  );
}

function ChooseBranch({
  branches,
  send,
  onClose,
}: {
  branches: readonly { id: string; name: string }[];
  send: (branch: string) => Promise<void>;
  onClose: () => void;
}) {
  const form = useForm({ branch: branches[0]?.id ?? '' }, async ({ branch }) => {
    await send(branch);
    onClose();
  });
  return (
    <Dialog
      title="Skip step"
      description="The way forks behind this step. Choose the branch on which the contact goes on."
      onClose={onClose}
    >
      <Form form={form}>
        <SelectField
          label="Branch"
          options={branches.map(({ id, name }) => ({ value: id, text: name }))}
          {...form.field('branch')}
        />
        <div className="actions">
          <Button onClick={onClose}>Keep</Button>
          <Button kind="primary" type="submit" isBusy={form.isBusy}>
            Skip
          </Button>
        </div>
      </Form>
    </Dialog>
  );
}
