import { Link } from '@tanstack/react-router';
import type { Campaign } from '../../api/api.ts';
import { EverpostError } from '../../api/api.ts';
import { useLive } from '../../api/queries.ts';
import { PageHead } from '../../design/page-head.tsx';
import { Figures, Loaded, Progress, State } from '../../design/parts.tsx';
import { GoalCard } from '../../goals/goal-card.tsx';
import { OverTime } from '../../mail/over-time.tsx';
import { useParam } from '../../shell/address.ts';
import { NotFound } from '../../shell/not-found-page.tsx';
import { useProject } from '../../shell/project.ts';
import { limits, statuses } from '../../words/campaigns.ts';
import { count, percent } from '../../words/numbers.ts';
import { fullTime } from '../../words/times.ts';
import { CampaignActions } from './campaign-actions.tsx';
import { Engagement } from './engagement.tsx';
import { ExperimentCard } from './experiment-card.tsx';
import { FollowedUp } from './edit/followed-up.tsx';
import { LinksCard } from './links-card.tsx';
import { NotReached } from './not-reached.tsx';
import { Recipients } from './recipients.tsx';
import type { Stats } from './stats.ts';
import './look/campaigns.css';

/** A campaign with its progress and the results of its mail. */
export function Page() {
  const { api, project } = useProject();
  const id = useParam('campaignId');
  const path = { id };
  const campaign = useLive({
    key: [project.id, 'campaigns', id],
    read: async () => (await api.get('/campaigns/{id}', { path })).data,
    isLive: ({ status }) => status !== 'DRAFT',
  });
  const stats = useLive<Stats>({
    key: [project.id, 'campaigns', id, 'stats'],
    read: async () => (await api.get('/campaigns/{id}/stats', { path })).data,
    isLive: campaign.data !== undefined && campaign.data.status !== 'DRAFT',
  });
  const { error } = campaign;
  if (error instanceof EverpostError && [404, 422].includes(error.status)) return <NotFound />;
  return (
    <Loaded query={campaign}>
      {(shown) => (
        <>
          <Head campaign={shown} />
          <Loaded query={stats}>{(numbers) => <Numbers campaign={shown} stats={numbers} />}</Loaded>
          {shown.status !== 'DRAFT' && <CampaignOverTime campaign={shown} />}
          {shown.experiment && <ExperimentCard campaignId={shown.id} />}
          {shown.status !== 'DRAFT' && <LinksCard campaignId={shown.id} />}
          {shown.status !== 'DRAFT' && <Recipients campaign={shown} />}
        </>
      )}
    </Loaded>
  );
}

function Head({ campaign }: { campaign: Campaign }) {
  const { project, path } = useProject();
  const { status, pausedReason, archived, scheduledFor } = campaign;
  const { text, tone } = statuses[status];
  return (
    <>
      <PageHead
        title={campaign.name}
        project={project.name}
        trail={<Link to={path('campaigns')}>All campaigns</Link>}
        state={
          <>
            <State tone={tone}>{text}</State>
            {archived && <State tone="neutral">Archived</State>}
          </>
        }
        actions={<CampaignActions campaign={campaign} />}
      />
      {campaign.description && <p className="second">{campaign.description}</p>}
      <FollowedUp campaign={campaign} />
      {status === 'SCHEDULED' && scheduledFor && (
        <p>It will be sent on {fullTime(scheduledFor)}.</p>
      )}
      {pausedReason === 'provider_failures' && (
        <p>
          It was paused because the mail provider refused too many mails.{' '}
          <code className="second">{pausedReason}</code>
        </p>
      )}
    </>
  );
}

function Numbers({ campaign, stats }: { campaign: Campaign; stats: Stats }) {
  const { outcomes, totalRecipients: total } = stats;
  if (campaign.status === 'DRAFT') return <p>It was not sent yet. Edit it to go on.</p>;
  const open = outcomes.pending + outcomes.held;
  const delivered = stats.deliveredCount + (stats.assumedDeliveredCount ?? 0);
  return (
    <>
      {campaign.status !== 'SCHEDULED' && (
        <>
          <Progress label="Progress" value={total === 0 ? 100 : ((total - open) / total) * 100} />
          <Speed stats={stats} />
        </>
      )}
      <Figures
        figures={[
          { name: 'Recipients', value: total },
          { name: 'Sent', value: stats.sentCount },
          { name: 'Delivered', value: delivered, note: percent(stats.deliveryRate) },
          { name: 'Opened', value: stats.openedCount, note: percent(stats.openRate) },
          { name: 'Clicked', value: stats.clickedCount, note: percent(stats.clickRate) },
          { name: 'Bounced', value: stats.bouncedCount, note: percent(stats.bounceRate) },
          { name: 'Unsubscribed', value: stats.unsubscribedCount },
        ]}
      />
      {stats.deliveryBasis && (
        <p className="second small">
          {stats.deliveryBasis === 'assumed' ? 'All' : 'Some'} mail went through SMTP, which reports
          no deliveries: mail that did not bounce counts as delivered.
        </p>
      )}
      <Engagement stats={stats} />
      {stats.goal && <GoalCard goal={stats.goal} />}
      <NotReached stats={stats} />
    </>
  );
}

function Speed({ stats: { progress } }: { stats: Stats }) {
  if (!progress) return null;
  const { perSecond, limitedBy, scheduledCount, estimatedEndAt } = progress;
  return (
    <p>
      {count(perSecond)} emails per second.{' '}
      {limitedBy && (
        <>
          {limits[limitedBy]} <code className="second">{limitedBy}</code>.{' '}
        </>
      )}
      {scheduledCount > 0 && `${count(scheduledCount)} wait for the local time of their contacts. `}
      {estimatedEndAt && `It ends about ${fullTime(estimatedEndAt)}.`}
    </p>
  );
}

function CampaignOverTime({ campaign: { id, sentCount, ...campaign } }: { campaign: Campaign }) {
  const start = new Date(campaign.sentAt ?? campaign.scheduledFor ?? campaign.updatedAt);
  const startDate = new Date(start.getTime() - 3_600_000).toISOString();
  const isOver = Date.now() - start.getTime() > 3 * 86_400_000;
  const series = { campaignId: id, interval: isOver ? 'day' : 'hour', startDate } as const;
  return <OverTime series={series} version={sentCount} />;
}
