import { Link } from '@tanstack/react-router';
import type { Campaign, Recipient } from '../../api/api.ts';
import { useLive } from '../../api/queries.ts';
import { Button } from '../../design/button.tsx';
import { SelectField } from '../../design/fields.tsx';
import { Empty, Loaded, State, Time } from '../../design/parts.tsx';
import { SearchField } from '../../design/lists/search-field.tsx';
import { Pager, Table } from '../../design/table.tsx';
import { useAddress } from '../../shell/address.ts';
import { useProject } from '../../shell/project.ts';
import { outcomes, results } from '../../words/campaigns.ts';
import { count, counted } from '../../words/numbers.ts';
import { textOfReason } from '../../words/reasons.ts';
import { armName } from '../../words/experiments.ts';

const resultOptions = [
  { value: '', text: 'All' },
  ...Object.entries(results).map(([value, text]) => ({ value, text })),
];

/** The recipients of a campaign, and the result of each mail. */
export function Recipients({ campaign }: { campaign: Campaign }) {
  const { id, status, experiment } = campaign;
  const { api, project } = useProject();
  const [filter, set] = useAddress({
    result: '',
    reason: '',
    who: '',
    link: '',
    arm: '',
    cursor: '',
  });
  const query = {
    limit: 50,
    ...(filter.cursor && { cursor: filter.cursor }),
    ...(filter.result && { outcome: filter.result as keyof typeof results }),
    ...(filter.reason && { reason: filter.reason as NonNullable<Recipient['reasonCode']> }),
    ...(filter.who && { search: filter.who }),
    ...(filter.link && { link: filter.link }),
    ...(filter.arm && { arm: filter.arm }),
  };
  const recipients = useLive({
    key: [project.id, 'campaigns', id, 'recipients', query],
    read: () => api.get('/campaigns/{id}/recipients', { path: { id }, query }),
    isLive: status !== 'CANCELLED',
  });
  return (
    <>
      <div className="toolbar" role="search">
        <SearchField
          label="Search recipients"
          value={filter.who}
          onChange={(who) => set({ who }, true)}
        />
        <SelectField
          label="Result"
          options={resultOptions}
          value={filter.result}
          onChange={(result) => set({ result, reason: '' })}
        />
        {experiment && (
          <SelectField
            label="Version"
            options={[
              { value: '', text: 'All' },
              ...experiment.arms.map((arm) => ({ value: arm.id, text: armName(arm) })),
            ]}
            value={filter.arm}
            onChange={(arm) => set({ arm })}
          />
        )}
        {filter.reason && (
          <Button onClick={() => set({ reason: '' })}>Only: {textOfReason(filter.reason)} ×</Button>
        )}
        {filter.link && (
          <Button onClick={() => set({ link: '' })}>Only who clicked a link ×</Button>
        )}
      </div>
      <Loaded query={recipients}>
        {({ data, total, cursor }) => (
          <>
            {data.length === 0 ? (
              <Empty>No recipient fits.</Empty>
            ) : (
              <Rows rows={data} campaign={campaign} />
            )}
            <Pager
              shown={filter.cursor ? '' : counted(total, 'recipient')}
              onFirst={filter.cursor ? () => set({ cursor: '' }) : null}
              onNext={cursor ? () => set({ cursor }) : null}
            />
          </>
        )}
      </Loaded>
    </>
  );
}

function Rows({ rows, campaign }: { rows: readonly Recipient[]; campaign: Campaign }) {
  const { path } = useProject();
  const isOfLink = rows.some(({ link }) => link);
  const names = new Map(campaign.experiment?.arms.map((arm) => [arm.id, armName(arm)]));
  return (
    <Table
      label="Recipients"
      rows={rows}
      keyOf={({ contact }) => contact.id}
      columns={[
        {
          name: 'Email',
          cell: ({ contact }) => <Link to={path(`contacts/${contact.id}`)}>{contact.email}</Link>,
        },
        { name: 'Result', cell: (recipient) => <Result recipient={recipient} /> },
        {
          name: 'Why',
          cell: ({ reasonCode: code, error }) =>
            code && (
              <span title={error ?? undefined}>
                {textOfReason(code)} <code className="second">{code}</code>
              </span>
            ),
        },
        ...(campaign.experiment
          ? [{ name: 'Version', cell: ({ arm }: Recipient) => arm && (names.get(arm) ?? arm) }]
          : []),
        { name: 'When', cell: ({ sentAt }) => <Time at={sentAt} /> },
        { name: 'Opens', isNumber: true, cell: ({ opens }) => count(opens) },
        { name: 'Clicks', isNumber: true, cell: ({ clicks }) => count(clicks) },
        ...(isOfLink
          ? [
              {
                name: 'On this link',
                isNumber: true,
                cell: ({ link }: Recipient) => count(link?.clicks ?? 0),
              },
            ]
          : []),
      ]}
    />
  );
}

function Result({ recipient }: { recipient: Recipient }) {
  const { outcome, bouncedAt, convertedAt, clickedAt, openedAt, deliveredAt } = recipient;
  if (outcome === null) return <State tone="warning">Left out</State>;
  if (bouncedAt) return <State tone="bad">Bounced</State>;
  if (convertedAt) return <State tone="good">{results.converted}</State>;
  if (clickedAt) return <State tone="good">Clicked</State>;
  if (openedAt) return <State tone="good">Opened</State>;
  if (deliveredAt) return <State tone="good">Delivered</State>;
  return <State tone={outcomes[outcome].tone}>{outcomes[outcome].text}</State>;
}
