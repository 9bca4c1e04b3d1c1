import { useState } from 'react';
import { BarChart } from '../../design/bar-chart.tsx';
import { Button } from '../../design/button.tsx';
import { useConfirm } from '../../design/confirm.tsx';
import { CheckField, RadioGroup, SelectField, TextArea, TextField } from '../../design/fields.tsx';
import { Menu } from '../../design/menu.tsx';
import { useNotify } from '../../design/notices.tsx';
import { PageHead } from '../../design/page-head.tsx';
import {
  Bones,
  Card,
  CopyButton,
  Empty,
  Figures,
  Progress,
  State,
  Time,
} from '../../design/parts.tsx';
import { Table } from '../../design/table.tsx';
import { Tabs } from '../../design/tabs.tsx';

const rows = [
  { email: 'ann@shop.test', sent: 1204, tone: 'good', state: 'Delivered' },
  { email: 'bob@shop.test', sent: 8, tone: 'warning', state: 'Waits' },
  { email: 'cleo@shop.test', sent: 31, tone: 'bad', state: 'Bounced' },
] as const;

/** All design components on one page, for developers of the console. */
export function Page() {
  return (
    <>
      <PageHead title="Design" state={<State tone="good">Enabled</State>} />
      <Figures
        figures={[
          { name: 'Sent', value: 12_408 },
          { name: 'Delivered', value: 12_377, note: '99.8 %' },
          { name: 'Bounced', value: 31 },
        ]}
      />
      <BarChart
        label="Emails by day"
        unit="Emails"
        bars={Array.from({ length: 30 }, (_, at) => ({
          name: `Day ${at + 1}`,
          value: (at * 37) % 90,
        }))}
      />
      <Buttons />
      <Fields />
      <Table
        label="Emails"
        rows={rows}
        keyOf={({ email }) => email}
        columns={[
          { name: 'Email', cell: ({ email }) => <a href="#main">{email}</a> },
          { name: 'State', cell: ({ tone, state }) => <State tone={tone}>{state}</State> },
          { name: 'When', cell: () => <Time at="2026-11-25T15:47:00Z" /> },
          { name: 'Sent', isNumber: true, cell: ({ sent }) => sent },
        ]}
      />
      <Tabs
        label="Parts"
        tabs={[
          { name: 'Progress', content: <Progress label="Progress" value={62} /> },
          { name: 'Waiting', content: <Bones /> },
        ]}
      />
      <Empty action={<Button kind="primary">Add contact</Button>}>
        Contacts are the people who get your mail. Add one, or import a CSV file.
      </Empty>
    </>
  );
}

function Buttons() {
  const { say, undoable } = useNotify();
  const confirm = useConfirm();
  return (
    <Card label="Buttons" actions={<Button isSmall>Small</Button>}>
      <div className="actions">
        <Button kind="primary">Save</Button>
        <Button>Cancel</Button>
        <Button
          kind="danger"
          onClick={() =>
            confirm({
              title: 'Delete 3 contacts?',
              text: 'Their mails stay.',
              verb: 'Delete',
              send: async () => say('Deleted.'),
            })
          }
        >
          Delete
        </Button>
        <Button isBusy>Saving</Button>
        <Button disabledBecause="Only administrators may do this.">Regenerate</Button>
        <Menu
          button={<Button>More</Button>}
          items={[
            { text: 'Duplicate', onChoose: () => say('Duplicated.') },
            { kind: 'line' },
            { text: 'Remove', onChoose: () => undoable('Removed.', async () => {}) },
          ]}
        />
        <CopyButton text="sk_123">Copy key</CopyButton>
      </div>
    </Card>
  );
}

function Fields() {
  const [text, setText] = useState('');
  const [isOn, setOn] = useState(true);
  return (
    <Card label="Fields">
      <TextField label="Name" value={text} onChange={setText} hint="Shown to recipients." />
      <TextField label="Email" value="ann@" onChange={setText} error="This is not an address." />
      <TextArea label="Message" value={text} onChange={setText} />
      <SelectField
        label="Unit"
        value="days"
        onChange={setText}
        options={[{ value: 'days', text: 'days' }]}
      />
      <CheckField label="Subscribed" value={isOn} onChange={setOn} />
      <RadioGroup
        label="Time"
        value="now"
        onChange={setText}
        options={[
          { value: 'now', text: 'Now' },
          { value: 'later', text: 'At a time' },
        ]}
      />
    </Card>
  );
}
