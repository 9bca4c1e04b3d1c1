import type { Domain } from '../../api/api.ts';
import { readAgain } from '../../api/queries.ts';
import { Button } from '../../design/button.tsx';
import { useNotify } from '../../design/notices.tsx';
import { CopyButton, State } from '../../design/parts.tsx';
import { Table } from '../../design/table.tsx';
import { useAction } from '../../design/use-action.ts';
import { useProject } from '../../shell/project.ts';
import { domainStates, purposes, recordStates } from '../../words/settings/domains.ts';
import { counted } from '../../words/numbers.ts';
import { fullDay } from '../../words/times.ts';
import './domains.css';

type DnsRecord = Domain['records'][number];

/** The DNS records of a domain: what to publish, and what the last check found. */
export function DnsRecords({ domain: { domain, records } }: { domain: Domain }) {
  return (
    <Table
      label="DNS records"
      place={domain}
      rows={records}
      keyOf={({ purpose, name, value }) => `${purpose} ${name} ${value}`}
      columns={[
        { name: 'Type', cell: ({ type }) => type },
        { name: 'Name', cell: ({ name }) => <code className="dns-name">{name}</code> },
        { name: 'Value', cell: (record) => <Value record={record} /> },
        { name: 'State', cell: (record) => <RecordState record={record} /> },
        {
          name: 'For',
          cell: ({ purpose, needed }) => (
            <>
              {purposes[purpose]}{' '}
              <span className="second">{needed ? 'needed' : 'recommended'}</span>
            </>
          ),
        },
      ]}
    />
  );
}

function Value({ record: { value, priority } }: { record: DnsRecord }) {
  return (
    <span className="dns-value">
      <code className="dns-text" title={value}>
        {value}
      </code>
      {priority !== undefined && <span className="second">priority {priority}</span>}
      <CopyButton text={value}>Copy value</CopyButton>
    </span>
  );
}

function RecordState({ record: { purpose, status, found, removeAfter } }: { record: DnsRecord }) {
  if (purpose === 'dkim_old') return <OldKey removeAfter={removeAfter} />;
  const { text, tone } = recordStates[status];
  return (
    <>
      <State tone={tone}>{text}</State>
      {found.map((other) => (
        <code key={other} className="dns-found" title={other}>
          {other}
        </code>
      ))}
    </>
  );
}

function OldKey({ removeAfter }: { removeAfter: string | undefined }) {
  const mustStay = removeAfter !== undefined && new Date(removeAfter) > new Date();
  return mustStay ? (
    <State tone="neutral">Keep it until {fullDay(removeAfter)}</State>
  ) : (
    <State tone="warning">Remove it</State>
  );
}

export function DomainState({ status }: Pick<Domain, 'status'>) {
  const { text, tone } = domainStates[status];
  return <State tone={tone}>{text}</State>;
}

/** A button that looks up the DNS records of a domain now. */
export function CheckNow({ id }: Pick<Domain, 'id'>) {
  const { api, project } = useProject();
  const { say } = useNotify();
  const check = useAction(async () => {
    const { domain, verified, records } = await api.get('/domains/{id}/verify', { path: { id } });
    await readAgain(project.id, 'domains');
    const missing = records.filter(({ needed, status }) => needed && status !== 'verified').length;
    say(
      verified
        ? `${domain} is verified.`
        : `${counted(missing, 'needed record')} of ${domain} not found yet. A change in DNS can take some hours.`,
    );
  });
  return (
    <Button isBusy={check.isBusy} onClick={() => void check.run()}>
      Check now
    </Button>
  );
}
