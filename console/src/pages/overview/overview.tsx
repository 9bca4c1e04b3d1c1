import { useLive } from '../../api/queries.ts';
import { BarChart } from '../../design/bar-chart.tsx';
import { SelectField } from '../../design/fields.tsx';
import { PageHead } from '../../design/page-head.tsx';
import { Figures, Loaded } from '../../design/parts.tsx';
import { useAddress } from '../../shell/address.ts';
import { useProject } from '../../shell/project.ts';
import { fullDay } from '../../words/times.ts';

const periods = [
  { value: '7', text: '7 days' },
  { value: '30', text: '30 days' },
  { value: '90', text: '90 days' },
];

const dayMs = 86_400_000;

export function Page() {
  const { project, api } = useProject();
  const [{ period }, set] = useAddress({ period: '30' });
  const startDate = new Date(Date.now() - (Number(period) - 1) * dayMs).toISOString().slice(0, 10);
  const series = useLive({
    key: [project.id, 'timeseries', startDate],
    read: () => api.get('/analytics/timeseries', { query: { startDate } }),
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
                bars={days.map(({ date, emails }) => ({ name: fullDay(date), value: emails }))}
              />
            </>
          );
        }}
      </Loaded>
    </>
  );
}
