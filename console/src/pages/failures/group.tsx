import { useState } from 'react';
import type { ExecutionGroup } from '../../api/api.ts';
import { readAgain } from '../../api/queries.ts';
import { Button } from '../../design/button.tsx';
import { Card, State, Time } from '../../design/parts.tsx';
import { useAction } from '../../design/use-action.ts';
import { useProject } from '../../shell/project.ts';
import { counted } from '../../words/numbers.ts';
import type { Tone } from '../../words/tone.ts';
import { People } from './people.tsx';

export const groupStates: Record<ExecutionGroup['kind'], { tone: Tone; text: string }> = {
  failed: { tone: 'bad', text: 'Failed' },
  stuck: { tone: 'bad', text: 'Stuck' },
  warning: { tone: 'warning', text: 'Ended with a warning' },
};

export const groupKey = ({ kind, workflow, step, error }: ExecutionGroup): string =>
  [kind, workflow.id, step?.id, error].join(' ');

/** `<workflow>: <step>` */
export const groupName = ({ workflow, step }: ExecutionGroup): string =>
  step ? `${workflow.name}: ${step.name}` : workflow.name;

/**
 * Returns distinct names of groups. Two errors at the same step get `Orders: Pay` and `Orders: Pay
 * (2)`.
 */
export function groupLabels(groups: readonly ExecutionGroup[]): string[] {
  const names = groups.map(groupName);
  return names.map((name, at) => {
    const before = names.slice(0, at).filter((other) => other === name).length;
    return before === 0 ? name : `${name} (${before + 1})`;
  });
}

/** Retries all executions of a group of failures. */
export function RetryAll({ group: { workflow, step, error } }: { group: ExecutionGroup }) {
  const { api, project } = useProject();
  const retryAll = useAction(async () => {
    await api.post('/workflows/{id}/executions/retry-all', {
      path: { id: workflow.id },
      body: {
        ...(step && { stepId: step.id }),
        ...(error && { errorEquals: error }),
      },
    });
    await readAgain(project.id, 'executions');
  }, 'They are being retried, at most 100 a second.');
  return (
    <Button kind="primary" isBusy={retryAll.isBusy} onClick={() => void retryAll.run()}>
      Retry all
    </Button>
  );
}

/** Executions with the same problem, with their number, their times and common actions. */
export function Group({ group, label }: { group: ExecutionGroup; label: string }) {
  const { api, project } = useProject();
  const [isOpen, setOpen] = useState(false);
  const { kind, workflow, error, count, firstAt, lastAt } = group;
  const pause = useAction(async () => {
    await api.patch('/workflows/{id}', { path: { id: workflow.id }, body: { paused: true } });
    await readAgain(project.id, 'workflows');
  }, `${workflow.name} is paused. No execution begins a step until it is resumed.`);
  return (
    <Card
      label={label}
      actions={
        <>
          {kind === 'failed' && <RetryAll group={group} />}
          <Button isBusy={pause.isBusy} onClick={() => void pause.run()}>
            Pause workflow
          </Button>
        </>
      }
    >
      <p className="actions">
        <State tone={groupStates[kind].tone}>{groupStates[kind].text}</State>
        <strong>{counted(count, 'execution')}</strong>
        <span className="second">
          first <Time at={firstAt} />, last <Time at={lastAt} />
        </span>
      </p>
      {error && <p className="code">{error}</p>}
      <div className="actions">
        <Button isSmall aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
          Show people
        </Button>
      </div>
      {isOpen && <People group={group} label={label} />}
    </Card>
  );
}
