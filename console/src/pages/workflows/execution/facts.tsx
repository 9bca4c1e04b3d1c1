import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import type { ExecutionDetails } from '../../../api/api.ts';
import { Card, Time, FactList } from '../../../design/parts.tsx';
import { useProject } from '../../../shell/project.ts';
import { textOfActor } from '../../../words/actors.ts';

export function Facts({
  execution,
  runUrl,
}: {
  execution: ExecutionDetails;
  /** Address of the run in the Temporal UI; null: the server knows no Temporal UI. */
  runUrl: string | null;
}) {
  const { path } = useProject();
  const { contact, key, causedBy, completedAt, exitReason, temporalWorkflowId } = execution;
  const facts: [string, ReactNode][] = [
    ['Contact', <Link to={path(`contacts/${contact.id}`)}>{contact.email}</Link>],
    ['Version', execution.workflowVersion],
    ['Key', key !== null && <code>{key}</code>],
    ['Started', <Time at={execution.startedAt} />],
    ['Started by', causedBy && textOfActor(causedBy)],
    ['Ended', completedAt && <Time at={completedAt} />],
    ['Reason', exitReason && <code>{exitReason}</code>],
    [
      'In Temporal',
      runUrl ? (
        <a href={runUrl} target="_blank" rel="noreferrer">
          Temporal run
        </a>
      ) : (
        <code>{temporalWorkflowId}</code>
      ),
    ],
  ];
  return (
    <Card label="Details">
      <FactList facts={facts} />
    </Card>
  );
}

/** The data of the event that started the execution, and the data that its steps have added. */
export function ContextCard({ context }: { context: Record<string, unknown> | null }) {
  return (
    <Card label="Context">
      {context === null || Object.keys(context).length === 0 ? (
        <p className="second">It was started without data.</p>
      ) : (
        <pre className="code" tabIndex={0} role="region" aria-label="Context as JSON">
          {JSON.stringify(context, null, 2)}
        </pre>
      )}
    </Card>
  );
}
