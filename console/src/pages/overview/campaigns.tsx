import { Link } from '@tanstack/react-router';
import type { Campaign } from '../../api/api.ts';
import { useLive } from '../../api/queries.ts';
import { Card, Loaded, Progress, State } from '../../design/parts.tsx';
import { useProject } from '../../shell/project.ts';
import { statuses } from '../../words/campaigns.ts';
import { count, counted, percent } from '../../words/numbers.ts';
import { fullTime } from '../../words/times.ts';

/** Number of campaigns that are read. The shown campaigns are chosen from them. */
const readMax = 10;
/** Maximum number of sent campaigns that are shown. */
const sentMax = 3;

/** The campaigns that run or are scheduled, and the campaigns that were sent last. */
export function CampaignsCard() {
  const { project, api, path } = useProject();
  const query = { pageSize: readMax, sort: 'updatedAt', dir: 'desc', archived: 'false' } as const;
  const campaigns = useLive({
    key: [project.id, 'campaigns', query],
    read: async () => (await api.get('/campaigns', { query })).data,
  });
  return (
    <Card label="Campaigns" actions={<Link to={path('campaigns')}>All campaigns</Link>}>
      <Loaded query={campaigns} lines={2}>
        {(all) => {
          const shown = chosen(all);
          return shown.length === 0 ? (
            <p className="second">No campaign runs, is scheduled or was sent.</p>
          ) : (
            <ul className="lines">
              {shown.map((campaign) => (
                <Line key={campaign.id} campaign={campaign} />
              ))}
            </ul>
          );
        }}
      </Loaded>
    </Card>
  );
}

function chosen(all: readonly Campaign[]): Campaign[] {
  const of = (...states: Campaign['status'][]) =>
    all.filter(({ status }) => states.includes(status));
  const last = of('SENT').toSorted((a, b) => ((a.sentAt ?? '') < (b.sentAt ?? '') ? 1 : -1));
  return [...of('SENDING', 'PAUSED'), ...of('SCHEDULED'), ...last.slice(0, sentMax)];
}

function Line({ campaign }: { campaign: Campaign }) {
  const { path } = useProject();
  const { id, name, status, sentCount, totalRecipients: total } = campaign;
  const isRunning = status === 'SENDING' || status === 'PAUSED';
  return (
    <li>
      <div>
        <strong>
          <Link to={path(`campaigns/${id}`)}>{name}</Link>
        </strong>
        <span className="actions">
          <State tone={statuses[status].tone}>{statuses[status].text}</State>
          <span className="second">{numbersOf(campaign)}</span>
        </span>
        {isRunning && total > 0 && (
          <Progress label={`Progress of ${name}`} value={(sentCount / total) * 100} />
        )}
      </div>
    </li>
  );
}

function numbersOf(campaign: Campaign): string {
  const { status, scheduledFor, sentCount: sent, totalRecipients, openedCount } = campaign;
  if (status === 'SCHEDULED') return scheduledFor ? `begins ${fullTime(scheduledFor)}` : '';
  if (status !== 'SENT') return `${count(sent)} of ${counted(totalRecipients, 'email')} sent`;
  if (sent === 0) return 'nobody was reached';
  const share = (number: number) => percent((number / sent) * 100);
  return `${counted(sent, 'email')}, ${share(openedCount)} opened, ${share(campaign.clickedCount)} clicked`;
}
