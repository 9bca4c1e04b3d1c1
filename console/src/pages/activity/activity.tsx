import type { ActivityItem } from '../../api/api.ts';
import { useLive } from '../../api/queries.ts';
import { Button } from '../../design/button.tsx';
import { Menu } from '../../design/menu.tsx';
import { PageHead } from '../../design/page-head.tsx';
import { Empty, Loaded } from '../../design/parts.tsx';
import { Pager } from '../../design/table.tsx';
import { useAddress } from '../../shell/address.ts';
import { useProject } from '../../shell/project.ts';
import { activityTypes, upcomingTypes } from '../../words/operations/activity.ts';
import { Feed } from './feed.tsx';

const shownTypes = (Object.keys(activityTypes) as ActivityItem['type'][]).filter(
  (type) => !upcomingTypes.includes(type),
);

/** The activity of the project, newest first. The first page is live. */
export function Page() {
  const { project, api } = useProject();
  const [{ types, cursor }, set] = useAddress({ types: '', cursor: '' });
  const query = { limit: 50, ...(types && { types }), ...(cursor && { cursor }) };
  const activity = useLive({
    key: [project.id, 'activity', query],
    read: () => api.get('/activity', { query }),
    isLive: cursor === '',
  });
  const chosen = types === '' ? [] : types.split(',');
  const toggle = (type: string) => {
    const next = chosen.includes(type) ? chosen.filter((one) => one !== type) : [...chosen, type];
    set({ types: next.join(',') }, true);
  };
  return (
    <>
      <PageHead title="Activity" project={project.name} />
      <div className="toolbar">
        <Menu
          button={<Button>Types</Button>}
          items={shownTypes.map((type) => ({
            kind: 'check',
            text: activityTypes[type],
            isChosen: chosen.includes(type),
            onChoose: () => toggle(type),
          }))}
        />
        {chosen.length > 0 && (
          <>
            <span className="second">Only: {chosen.map(typeText).join(', ')}</span>
            <Button kind="plain" onClick={() => set({ types: '' }, true)}>
              Show all
            </Button>
          </>
        )}
      </div>
      <Loaded query={activity} lines={8}>
        {({ data, cursor: next }) => (
          <>
            {data.length === 0 ? (
              <Empty>
                {types || cursor
                  ? 'Nothing of these types has happened.'
                  : 'Events, mail, campaigns and workflows are listed here as they happen. Nothing has happened in the last 30 days.'}
              </Empty>
            ) : (
              <div className="card">
                <div className="body">
                  <Feed label="Activity" items={data} />
                </div>
              </div>
            )}
            <Pager
              shown=""
              onFirst={cursor ? () => set({ cursor: '' }) : null}
              onNext={next ? () => set({ cursor: next }) : null}
            />
          </>
        )}
      </Loaded>
    </>
  );
}

const typeText = (type: string): string => (activityTypes as Record<string, string>)[type] ?? type;
