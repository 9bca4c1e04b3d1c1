import { Link } from '@tanstack/react-router';
import type { ExecutionGroup } from '../../api/api.ts';
import { useLive } from '../../api/queries.ts';
import { Card, Loaded, State, Time } from '../../design/parts.tsx';
import { useProject } from '../../shell/project.ts';
import { counted } from '../../words/numbers.ts';
import { groupKey, groupName, groupStates, RetryAll } from '../failures/group.tsx';

/** Maximum number of groups that are shown. */
const shownMax = 4;

/** The largest groups of failures, each with its reason. */
export function FailuresCard() {
  const { project, api, path } = useProject();
  const groups = useLive({
    key: [project.id, 'executions', 'groups', {}],
    read: () => api.get('/executions/groups'),
  });
  return (
    <Card
      label="Failures"
      actions={Boolean(groups.data?.length) && <Link to={path('failures')}>All failures</Link>}
    >
      <Loaded query={groups} lines={2}>
        {(found) =>
          found.length === 0 ? (
            <p className="second">All executions run as they should.</p>
          ) : (
            <ul className="lines">
              {found.slice(0, shownMax).map((group) => (
                <Line key={groupKey(group)} group={group} />
              ))}
            </ul>
          )
        }
      </Loaded>
    </Card>
  );
}

function Line({ group }: { group: ExecutionGroup }) {
  const { path } = useProject();
  const { kind, workflow, error, count, firstAt } = group;
  return (
    <li aria-label={groupName(group)}>
      <div>
        <strong>
          <Link to={path(`workflows/${workflow.id}`)}>{groupName(group)}</Link>
        </strong>
        <span className="actions">
          <State tone={groupStates[kind].tone}>{groupStates[kind].text}</State>
          <span className="second">
            {counted(count, 'execution')} since <Time at={firstAt} />
          </span>
        </span>
        {error && <span className="mono">{error}</span>}
      </div>
      {kind === 'failed' && <RetryAll group={group} />}
    </li>
  );
}
