import type { ExecutionGroup } from '../../api/api.ts';
import { useLive } from '../../api/queries.ts';
import { SelectField } from '../../design/fields.tsx';
import { PageHead } from '../../design/page-head.tsx';
import { Empty, Loaded } from '../../design/parts.tsx';
import { useAddress } from '../../shell/address.ts';
import { useProject } from '../../shell/project.ts';
import { Group, groupKey, groupLabels } from './group.tsx';

const kinds = [
  { value: '', text: 'All' },
  { value: 'failed', text: 'Failed' },
  { value: 'stuck', text: 'Stuck' },
  { value: 'warning', text: 'Warnings' },
];

/** Executions that need attention, in one region for each step and error. */
export function Page() {
  const { project, api } = useProject();
  const [{ show }, set] = useAddress({ show: '' });
  const kind = show as '' | ExecutionGroup['kind'];
  const query = kind ? { kind } : {};
  const groups = useLive({
    key: [project.id, 'executions', 'groups', query],
    read: () => api.get('/executions/groups', { query }),
  });
  return (
    <>
      <PageHead
        title="Failures"
        project={project.name}
        actions={
          <SelectField
            label="Show"
            options={kinds}
            value={show}
            onChange={(value) => set({ show: value })}
          />
        }
      />
      <Loaded query={groups}>
        {(found) =>
          found.length === 0 ? (
            <Empty>
              {show
                ? 'No execution is in this state.'
                : 'All executions run as they should. Those that fail, get stuck or end with a warning are listed here, together if they have the same reason.'}
            </Empty>
          ) : (
            <div className="stack">
              {found.map((group, at) => (
                <Group key={groupKey(group)} group={group} label={groupLabels(found)[at]!} />
              ))}
            </div>
          )
        }
      </Loaded>
    </>
  );
}
