import { Link } from '@tanstack/react-router';
import { useProject } from '../shell/project.ts';

interface Use {
  id: string;
  name: string;
}

export interface Usage {
  usedInSegments: readonly Use[];
  usedInWorkflows: readonly Use[];
  usedInCampaigns: readonly Use[];
  /** Numbers of further uses that the lists leave out. */
  more?: Record<string, number>;
}

const kinds = [
  ['usedInWorkflows', 'workflows', 'Workflow'],
  ['usedInSegments', 'segments', 'Segment'],
  ['usedInCampaigns', 'campaigns', 'Campaign'],
] as const;

/** The segments, workflows and campaigns that use a record, with links. */
export function Users({ usage }: { usage: Usage }) {
  const { path } = useProject();
  const users = kinds.flatMap(([key, folder, word]) =>
    usage[key].map((use) => ({ ...use, folder, word })),
  );
  const more = Object.values(usage.more ?? {}).reduce((sum, number) => sum + number, 0);
  if (users.length === 0) return <p className="second">Nothing uses it.</p>;
  return (
    <ul className="stack-list" aria-label="Used by">
      {users.map(({ id, name, folder, word }) => (
        <li key={folder + id}>
          {word} <Link to={path(`${folder}/${id}`)}>{name}</Link>
        </li>
      ))}
      {more > 0 && <li>and {more} more</li>}
    </ul>
  );
}
