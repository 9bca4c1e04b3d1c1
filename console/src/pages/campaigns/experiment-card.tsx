import type { Experiment, ExperimentArm } from '../../api/api.ts';
import { readAgain, useLive } from '../../api/queries.ts';
import { Button } from '../../design/button.tsx';
import { useConfirm } from '../../design/confirm.tsx';
import { Card, State } from '../../design/parts.tsx';
import { Table } from '../../design/table.tsx';
import { useAddress } from '../../shell/address.ts';
import { useProject } from '../../shell/project.ts';
import { armName, decisionReasons, experimentStates } from '../../words/experiments.ts';
import { count, counted, percent } from '../../words/numbers.ts';
import { fullTime } from '../../words/times.ts';

/** The versions of an experiment with their numbers, and its decision. */
export function ExperimentCard({ campaignId: id }: { campaignId: string }) {
  const { api, project } = useProject();
  const { data } = useLive({
    key: [project.id, 'campaigns', id, 'experiment'],
    read: async () => (await api.get('/campaigns/{id}/experiment', { path: { id } })).data,
    isLive: ({ state }) => state === 'TESTING' || state === 'WAITING',
  });
  if (!data) return null;
  return (
    <Card label="Experiment">
      <p>
        {experimentStates[data.state]} Test group: {count(data.testRecipients)}, the rest:{' '}
        {count(data.restRecipients)}.
        {data.state === 'TESTING' && data.decideAt && ` It is decided ${fullTime(data.decideAt)}.`}
      </p>
      <Decision experiment={data} />
      <Arms campaignId={id} experiment={data} />
    </Card>
  );
}

/** The chosen version, with the numbers at the time of the decision. */
function Decision({ experiment: { decision, arms } }: { experiment: Experiment }) {
  if (!decision) return null;
  const { arm: id, by, decidedAt, actor, numbers } = decision;
  const arm = arms.find((one) => one.id === id);
  const then = numbers.find((one) => one.id === id);
  return (
    <p>
      <strong>{arm ? armName(arm) : id}</strong> was taken {fullTime(decidedAt)}
      {actor?.name && ` by ${actor.name}`}. {decisionReasons[by]}{' '}
      <code className="second">{by}</code>
      {then && ` Its rate was ${percent(then.rate)} of ${counted(then.sent, 'sent mail')}.`}
    </p>
  );
}

function Arms({
  campaignId: id,
  experiment: { state, arms, decision, restRecipients },
}: {
  campaignId: string;
  experiment: Experiment;
}) {
  const { api, project } = useProject();
  const confirm = useConfirm();
  const [{ arm: shown }, set] = useAddress({ arm: '', cursor: '' });
  const canDecide = state === 'TESTING' || state === 'WAITING';
  const ask = (arm: ExperimentArm) =>
    confirm({
      title: `Choose ${armName(arm)}?`,
      text: `${counted(restRecipients, 'recipient')} will get it now. The decision is final.`,
      verb: 'Choose',
      isDangerous: false,
      send: async () => {
        const body = { arm: arm.id };
        await api.post('/campaigns/{id}/experiment/decide', { path: { id }, body });
        await readAgain(project.id, 'campaigns', id);
      },
    });
  return (
    <Table
      label="Versions"
      rows={arms}
      keyOf={(arm) => arm.id}
      columns={[
        { name: 'Version', cell: armName },
        {
          name: 'Decision',
          cell: (arm) =>
            decision?.arm === arm.id ? (
              <State tone="good">Chosen</State>
            ) : (
              canDecide && (
                <Button isSmall aria-label={`Choose ${armName(arm)}`} onClick={() => ask(arm)}>
                  Choose
                </Button>
              )
            ),
        },
        { name: 'Recipients', isNumber: true, cell: ({ recipients }) => count(recipients) },
        { name: 'Sent', isNumber: true, cell: ({ sent }) => count(sent) },
        { name: 'Opened by people', isNumber: true, cell: (arm) => count(arm.humanOpened) },
        { name: 'Clicked by people', isNumber: true, cell: (arm) => count(arm.humanClicked) },
        { name: 'Goal', isNumber: true, cell: ({ converted }) => count(converted) },
        { name: 'Rate', isNumber: true, cell: ({ rate }) => percent(rate) },
        {
          name: 'Chance to be best',
          isNumber: true,
          cell: ({ probabilityBest }) => percent(probabilityBest),
        },
        {
          name: 'Who',
          hidesName: true,
          cell: (arm) => (
            <Button
              isSmall
              aria-label={`Who got ${armName(arm)}`}
              aria-pressed={shown === arm.id}
              onClick={() => set({ arm: shown === arm.id ? '' : arm.id })}
            >
              Who
            </Button>
          ),
        },
      ]}
    />
  );
}
