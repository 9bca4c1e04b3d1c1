import { accountApi, type Invoice } from '../../../api/api.ts';
import { useRead } from '../../../api/queries.ts';
import { Empty, Loaded, State } from '../../../design/parts.tsx';
import { Table } from '../../../design/table.tsx';
import { useProject } from '../../../shell/project.ts';
import { fullDay } from '../../../words/times.ts';
import { money } from './money.ts';

export function Invoices() {
  const { project } = useProject();
  const invoices = useRead([project.id, 'billing', 'invoices'], () =>
    accountApi.get('/users/@me/projects/{id}/billing-invoices', { path: { id: project.id } }),
  );
  return (
    <Loaded query={invoices}>
      {({ invoices: all }) =>
        all.length === 0 ? (
          <Empty>Invoices are listed here. There is none yet.</Empty>
        ) : (
          <Table
            label="Invoices"
            rows={all}
            keyOf={({ id }) => id}
            columns={[
              { name: 'Invoice', cell: (invoice) => <InvoiceLink invoice={invoice} /> },
              { name: 'Date', cell: ({ created }) => fullDay(created) },
              {
                name: 'Period',
                cell: ({ periodStart, periodEnd }) =>
                  `${fullDay(periodStart)} – ${fullDay(periodEnd)}`,
              },
              {
                name: 'Amount',
                isNumber: true,
                cell: ({ total, currency }) => money(total, currency),
              },
              {
                name: 'State',
                cell: ({ paid, status }) =>
                  paid ? (
                    <State tone="good">Paid</State>
                  ) : (
                    <State tone={status === 'open' ? 'bad' : 'neutral'}>{wordOf(status)}</State>
                  ),
              },
            ]}
          />
        )
      }
    </Loaded>
  );
}

const words: Record<string, string> = {
  draft: 'Draft',
  open: 'Not paid',
  void: 'Void',
  uncollectible: 'Given up',
};

const wordOf = (status: string | null) => words[status ?? ''] ?? status ?? 'Unknown';

function InvoiceLink({ invoice: { id, number, hostedInvoiceUrl } }: { invoice: Invoice }) {
  const name = number ?? id;
  return hostedInvoiceUrl === null ? name : <a href={hostedInvoiceUrl}>{name}</a>;
}
