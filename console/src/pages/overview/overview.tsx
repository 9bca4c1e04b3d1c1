import './overview.css';
import { useLive } from '../../api/queries.ts';
import { BarChart } from '../../design/bar-chart.tsx';
import { SelectField } from '../../design/fields.tsx';
import { PageHead } from '../../design/page-head.tsx';
import { Figures, Loaded } from '../../design/parts.tsx';
import { useAddress } from '../../shell/address.ts';
import { useProject } from '../../shell/project.ts';
import { fullDay, startOfDay, timeZone } from '../../words/times.ts';
import { CampaignsCard } from './campaigns.tsx';
import { DeliveryCard } from './delivery.tsx';
import { FailuresCard } from './failures.tsx';
import { UpcomingCard } from './upcoming.tsx';

const periods = [
  { value: '7', text: '7 days' },
  { value: '30', text: '30 days' },
  { value: '90', text: '90 days' },
];

/** Returns the day (`2026-11-25`) that was `days` days ago in the browser's zone. */
function daysAgo(days: number): string {
  const date = new Date();
  date.setDate(date.getDate() - days);
  const parts = [date.getFullYear(), date.getMonth() + 1, date.getDate()];
  return parts.map((part) => String(part).padStart(2, '0')).join('-');
}

export function Page() {
  const { project, api } = useProject();
  const [{ period }, set] = useAddress({ period: '30' });
  const query = { startDate: daysAgo(Number(period) - 1), timeZone: timeZone() };
  const series = useLive({
    key: [project.id, 'timeseries', query],
    read: () => api.get('/analytics/timeseries', { query }),
    pauseMs: 60_000,
  });
  return (
    <>
      <PageHead
        title="Overview"
        project={project.name}
        actions={
          <SelectField
            label="Period"
            hidesLabel
            options={periods}
            value={period}
            onChange={(value) => set({ period: value })}
          />
        }
      />
      <Loaded query={series}>
        {(days) => {
          const sum = (field: 'emails' | 'delivered' | 'opens' | 'clicks' | 'bounces') =>
            days.reduce((total, day) => total + day[field], 0);
          return (
            <>
              <Figures
                figures={[
                  { name: 'Sent', value: sum('emails') },
                  { name: 'Delivered', value: sum('delivered') },
                  { name: 'Opened', value: sum('opens') },
                  { name: 'Clicked', value: sum('clicks') },
                  { name: 'Bounced', value: sum('bounces') },
                ]}
              />
              <BarChart
                label="Emails by day"
                unit="Emails"
                bars={days.map(({ date, emails }) => ({
                  name: fullDay(startOfDay(date)),
                  value: emails,
                }))}
              />
            </>
          );
        }}
      </Loaded>
      <div className="columns">
        <div className="stack">
          <FailuresCard />
          <DeliveryCard />
        </div>
        <div className="stack">
          <CampaignsCard />
          <UpcomingCard />
        </div>
      </div>
    </>
  );
}
