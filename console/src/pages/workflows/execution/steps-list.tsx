import { Link } from '@tanstack/react-router';
import type { ExecutionDetails, StepExecution } from '../../../api/api.ts';
import { Card, State } from '../../../design/parts.tsx';
import { typeNames } from '../../../journey/graph.ts';
import { useProject } from '../../../shell/project.ts';
import { endOfWait } from '../../../words/operations/execution.ts';
import { type StepFacts, stepSentence, stepStates } from '../../../words/operations/steps.ts';
import { fullTime } from '../../../words/times.ts';
import type { VersionGraph } from './version-graph.ts';

/** The steps of an execution in sentences, the oldest step first. */
export function StepsList({
  execution,
  graph,
  explanations,
}: {
  execution: ExecutionDetails;
  graph: VersionGraph | undefined;
  /** Explanation by step id: what the step waits for, or why it took its branch. */
  explanations: ReadonlyMap<string, string>;
}) {
  const { stepExecutions, currentStepId } = execution;
  return (
    <Card label="What happened">
      {stepExecutions.length === 0 && <p className="second">No step has begun yet.</p>}
      <ol className="path" aria-label="Steps">
        {stepExecutions.map((row, at) => (
          <Step
            key={row.id}
            row={row}
            facts={{
              config: graph?.steps.find(({ id }) => id === row.stepId)?.config ?? {},
              explanation: explanations.get(row.stepId) ?? null,
              waitsUntil: row.stepId === currentStepId ? endOfWait(execution) : null,
              leftAt: stepExecutions.slice(at + 1).find(hasBegun)?.startedAt ?? null,
            }}
          />
        ))}
      </ol>
    </Card>
  );
}

const hasBegun = ({ startedAt }: StepExecution) => startedAt !== null;

function Step({ row, facts }: { row: StepExecution; facts: StepFacts }) {
  const { path } = useProject();
  const { step, status, output } = row;
  // A delay has the status COMPLETED from its beginning, but its execution waits at the delay.
  const { text, tone } = stepStates[facts.waitsUntil === null ? status : 'WAITING'];
  const emailId = output?.['emailId'];
  return (
    <li>
      <span className="actions">
        <strong>{step.name}</strong>
        <span className="second small">{typeNames[step.type]}</span>
        <State tone={tone}>{text}</State>
      </span>
      <span>
        {stepSentence(row, facts)}{' '}
        {typeof emailId === 'string' && <Link to={path(`emails/${emailId}`)}>Show the email</Link>}
      </span>
      <span className="second small">{timesOf(row, facts)}</span>
    </li>
  );
}

function timesOf({ startedAt, completedAt }: StepExecution, { waitsUntil }: StepFacts): string {
  if (startedAt === null) return '';
  const isLong = completedAt !== null && Date.parse(completedAt) - Date.parse(startedAt) >= 60_000;
  return isLong && waitsUntil === null
    ? `${fullTime(startedAt)} to ${fullTime(completedAt)}`
    : fullTime(startedAt);
}
