import { useLive } from '../../api/queries.ts';
import { Card, Loaded } from '../../design/parts.tsx';
import { useProject } from '../../shell/project.ts';
import { Feed } from '../activity/feed.tsx';

const query = { limit: 8 };

/** Campaigns and steps of workflows that begin in the next 30 days. */
export function UpcomingCard() {
  const { project, api } = useProject();
  const upcoming = useLive({
    key: [project.id, 'activity', 'upcoming'],
    read: async () => (await api.get('/activity/upcoming', { query })).activities,
    pauseMs: 60_000,
  });
  return (
    <Card label="Upcoming">
      <Loaded query={upcoming} lines={2}>
        {(items) =>
          items.length === 0 ? (
            <p className="second">
              Nothing is planned for the next 30 days: no campaign, and no step of a workflow.
            </p>
          ) : (
            <Feed label="Upcoming" items={items} />
          )
        }
      </Loaded>
    </Card>
  );
}
