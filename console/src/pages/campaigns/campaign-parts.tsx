import { useLive, useRead } from '../../api/queries.ts';
import { Button } from '../../design/button.tsx';
import { Card, Figures, State } from '../../design/parts.tsx';
import { Table } from '../../design/table.tsx';
import { useAction } from '../../design/use-action.ts';
import { readAgain } from '../../api/queries.ts';
import { useProject } from '../../shell/project.ts';
import { count, percent } from '../../words/numbers.ts';
import type { Stats } from './stats.ts';

/** Opens and clicks by people and by machines, and the goal. */
export function Engagement({ stats }: { stats: Stats }) {
  const { goal } = stats;
  return (
    <>
      <Card label="People and machines">
        <Figures
          figures={[
            {
              name: 'Opened by people',
              value: stats.humanOpenedCount,
              note: percent(stats.humanOpenRate),
            },
            { name: 'Opened by machines alone', value: stats.machineOpenedCount },
            {
              name: 'Clicked by people',
              value: stats.humanClickedCount,
              note: percent(stats.humanClickRate),
            },
            { name: 'Clicked by machines alone', value: stats.machineClickedCount },
          ]}
        />
      </Card>
      {goal && (
        <Card label="Goal">
          <p>
            Event <code>{goal.eventName}</code>
          </p>
          <Figures
            figures={[
              {
                name: 'Mails with the event',
                value: goal.converted,
                note: percent(goal.conversionRate),
              },
              { name: 'Events', value: goal.conversions },
              { name: 'Value', value: goal.value },
            ]}
          />
        </Card>
      )}
    </>
  );
}

const experimentStates = {
  DRAFT: 'It has not begun.',
  TESTING: 'The test group gets its mail.',
  WAITING: 'It waits for your decision.',
  DECIDED: 'It is decided.',
  CANCELLED: 'It was cancelled.',
} as const;

/** The versions of an experiment with their numbers. */
export function ExperimentCard({ campaignId: id }: { campaignId: string }) {
  const { api, project } = useProject();
  const { data } = useLive({
    key: [project.id, 'campaigns', id, 'experiment'],
    read: async () => (await api.get('/campaigns/{id}/experiment', { path: { id } })).data,
    isLive: ({ state }) => state === 'TESTING' || state === 'WAITING',
  });
  const decide = useAction(async (arm: string) => {
    await api.post('/campaigns/{id}/experiment/decide', { path: { id }, body: { arm } });
    await readAgain(project.id, 'campaigns', id);
  }, 'The experiment is decided.');
  if (!data) return null;
  const canDecide = data.state === 'TESTING' || data.state === 'WAITING';
  return (
    <Card label="Experiment">
      <p>
        {experimentStates[data.state]} Test group: {count(data.testRecipients)}, the rest:{' '}
        {count(data.restRecipients)}.
      </p>
      <Table
        label="Versions"
        rows={data.arms}
        keyOf={({ id: arm }) => arm}
        columns={[
          { name: 'Version', cell: ({ id: arm, name }) => name ?? arm },
          {
            name: 'Decision',
            cell: ({ id: arm }) =>
              data.decision?.arm === arm ? (
                <State tone="good">Chosen</State>
              ) : (
                canDecide && (
                  <Button isSmall isBusy={decide.isBusy} onClick={() => void decide.run(arm)}>
                    Choose
                  </Button>
                )
              ),
          },
          { name: 'Recipients', isNumber: true, cell: ({ recipients }) => count(recipients) },
          { name: 'Sent', isNumber: true, cell: ({ sent }) => count(sent) },
          { name: 'Rate', isNumber: true, cell: ({ rate }) => percent(rate) },
          {
            name: 'Chance to be best',
            isNumber: true,
            cell: ({ probabilityBest }) => percent(probabilityBest),
          },
        ]}
      />
    </Card>
  );
}

/** The links of a campaign with their clicks. */
export function LinksCard({ campaignId: id }: { campaignId: string }) {
  const { api, project } = useProject();
  const { data } = useRead([project.id, 'campaigns', id, 'links'], () =>
    api.get('/campaigns/{id}/links', { path: { id } }),
  );
  if (!data || data.links.length === 0) return null;
  return (
    <Card label="Links">
      <Table
        label="Links"
        rows={data.links}
        keyOf={({ linkId }) => linkId}
        columns={[
          { name: 'Address', cell: ({ url }) => url ?? 'All others' },
          { name: 'Clicks', isNumber: true, cell: ({ clicks }) => count(clicks) },
          { name: 'By people', isNumber: true, cell: ({ humanClicks }) => count(humanClicks) },
          {
            name: 'By machines',
            isNumber: true,
            cell: ({ machineClicks }) => count(machineClicks),
          },
        ]}
      />
    </Card>
  );
}
