import { useState } from 'react';
import { useRead } from '../api/queries.ts';
import { BarChart } from '../design/bar-chart.tsx';
import { useProject } from '../shell/project.ts';
import { fullDay, fullTime, timeZone } from '../words/times.ts';

interface Series {
  campaignId?: string;
  templateId?: string;
  workflowId?: string;
  interval: 'hour' | 'day';
  startDate: string;
}

/**
 * Chart of the mail of a campaign, a template or a workflow.
 * @param version a new value makes the chart read the numbers again
 */
export function OverTime({ series, version = 0 }: { series: Series; version?: number }) {
  const { api, project } = useProject();
  const query = { ...series, timeZone: timeZone() };
  const { data } = useRead([project.id, 'analytics', 'series', query, version], () =>
    api.get('/analytics/series', { query }),
  );
  if (!data) return null;
  const nameOf = series.interval === 'day' ? fullDay : fullTime;
  return (
    <BarChart
      label="Over time"
      unit="Emails"
      bars={data.points.map(({ at, sent }) => ({ name: nameOf(at), value: sent }))}
    />
  );
}

/** Chart of the mail of the last 30 days. */
export function LastDays(source: { templateId: string } | { workflowId: string }) {
  const [startDate] = useState(() => new Date(Date.now() - 29 * 86_400_000).toISOString());
  return <OverTime series={{ ...source, interval: 'day', startDate }} />;
}
