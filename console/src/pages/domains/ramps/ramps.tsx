import { useState } from 'react';
import type { Ramp } from '../../../api/api.ts';
import { readAgain, useLive, useRead } from '../../../api/queries.ts';
import { Button } from '../../../design/button.tsx';
import { useConfirm } from '../../../design/confirm.tsx';
import { Card, Empty, Loaded, State, Time } from '../../../design/parts.tsx';
import { Table } from '../../../design/table.tsx';
import { useAction } from '../../../design/use-action.ts';
import { useProject } from '../../../shell/project.ts';
import { count, counted } from '../../../words/numbers.ts';
import { rampState } from '../../../words/settings/providers.ts';
import { NewRamp } from './new-ramp.tsx';

/** The warm-ups: rising limits of mail per day for new providers and domains. */
export function Ramps() {
  const { api, project, adminOnly } = useProject();
  const ramps = useLive({
    key: [project.id, 'ramps'],
    read: () => api.get('/ramps'),
    isLive: (all) => all.some(({ status }) => status === 'RUNNING'),
  });
  const [isNew, setNew] = useState(false);
  return (
    <Card
      label="Warm-up"
      actions={
        <Button disabledBecause={adminOnly} onClick={() => setNew(true)}>
          Start warm-up
        </Button>
      }
    >
      <Loaded query={ramps} lines={1}>
        {(all) =>
          all.length === 0 ? (
            <Empty>
              Receivers distrust a new domain or provider that sends much at once. A warm-up raises
              its mail day by day.
            </Empty>
          ) : (
            <Rows ramps={all} />
          )
        }
      </Loaded>
      {isNew && <NewRamp onClose={() => setNew(false)} />}
    </Card>
  );
}

function Rows({ ramps }: { ramps: readonly Ramp[] }) {
  const { api, project } = useProject();
  const providers = useRead([project.id, 'providers'], () => api.get('/providers'));
  const nameOf = (id: string) => providers.data?.find((one) => one.id === id)?.name ?? id;
  return (
    <Table
      label="Warm-ups"
      rows={ramps}
      keyOf={({ id }) => id}
      columns={[
        {
          name: 'For',
          cell: ({ providerId, domain }) =>
            [domain, providerId && `by ${nameOf(providerId)}`].filter(Boolean).join(' '),
        },
        {
          name: 'State',
          cell: (ramp) => {
            const { text, tone } = rampState(ramp);
            return <State tone={tone}>{text}</State>;
          },
        },
        { name: 'Day', cell: ({ day, days }) => `${day} of ${days}` },
        {
          name: 'Mails today',
          isNumber: true,
          cell: ({ used, cap }) => (cap === null ? 'no limit' : `${count(used)} of ${count(cap)}`),
        },
        { name: 'Waiting', isNumber: true, cell: ({ held }) => count(held) },
        { name: 'Next day', cell: ({ nextDayAt }) => <Time at={nextDayAt} /> },
        { name: 'Actions', hidesName: true, cell: (ramp) => <RampActions ramp={ramp} /> },
      ]}
    />
  );
}

function RampActions({ ramp: { id, status, held } }: { ramp: Ramp }) {
  const { api, project, adminOnly } = useProject();
  const confirm = useConfirm();
  const isRunning = status === 'RUNNING';
  const turn = useAction(async () => {
    await api.post(isRunning ? '/ramps/{id}/pause' : '/ramps/{id}/resume', { path: { id } });
    await readAgain(project.id, 'ramps');
  });
  const remove = () =>
    confirm({
      title: 'Delete this warm-up?',
      text: `Its mail has no limit any more. ${counted(held, 'mail')} that wait for it leave now.`,
      verb: 'Delete',
      async send() {
        await api.delete('/ramps/{id}', { path: { id } });
        await readAgain(project.id, 'ramps');
      },
    });
  return (
    <span className="actions">
      {status !== 'DONE' && (
        <Button
          isSmall
          isBusy={turn.isBusy}
          disabledBecause={adminOnly}
          onClick={() => void turn.run()}
        >
          {isRunning ? 'Pause' : 'Resume'}
        </Button>
      )}
      <Button isSmall disabledBecause={adminOnly} onClick={remove}>
        Delete
      </Button>
    </span>
  );
}
