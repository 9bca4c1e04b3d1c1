import { accountApi, type Api } from '../../../api/api.ts';
import { useRead } from '../../../api/queries.ts';
import { Figures, Loaded } from '../../../design/parts.tsx';
import { useProject } from '../../../shell/project.ts';
import { fullDay } from '../../../words/times.ts';
import { money } from './money.ts';

type Answer = Api['get']['/users/@me/projects/{id}/billing-consumption']['answer'];

/** The mail of this period, and its cost. */
export function Consumption() {
  const { project } = useProject();
  const consumption = useRead([project.id, 'billing', 'consumption'], () =>
    accountApi.get('/users/@me/projects/{id}/billing-consumption', { path: { id: project.id } }),
  );
  return (
    <Loaded query={consumption} lines={2}>
      {(found) => <Figures figures={figuresOf(found)} />}
    </Loaded>
  );
}

function figuresOf({ period, usage, credits, upcomingInvoice: next }: Answer) {
  return [
    {
      name: 'Emails in this period',
      value: usage.total,
      note: `${fullDay(period.start)} – ${fullDay(period.end)}`,
    },
    ...(next
      ? [
          {
            name: 'Next invoice',
            value: money(next.amountDue, next.currency),
            note: `for the time until ${fullDay(next.periodEnd)}`,
          },
        ]
      : []),
    ...(credits?.hasCredits
      ? [
          {
            name: 'Credits',
            value: money(credits.balance, credits.currency),
            note: `of ${money(credits.creditAmount, credits.currency)}`,
          },
        ]
      : []),
  ];
}
