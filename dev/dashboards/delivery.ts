import type { Dashboard } from './grafana.ts';

export const delivery: Dashboard = {
  name: 'delivery',
  title: 'delivery of mail',
  rows: [
    [
      'What waits',
      [
        {
          title: 'Due mail',
          unit: 'short',
          description: 'Messages that could leave now, counted up to 10,000.',
          series: [['max(everpost_email_due)', 'due']],
        },
        {
          title: 'Age of the oldest due mail',
          unit: 's',
          description: 'If it grows, mail arrives faster than it leaves.',
          series: [['max(everpost_email_due_age_seconds)', 'age']],
        },
        {
          title: 'Held mail',
          unit: 'short',
          description:
            'Messages that a rule holds back, by its reason: at most 1,000 of a project.',
          series: [['max by (reason) (everpost_email_held)', '{{reason}}']],
        },
      ],
    ],
    [
      'What leaves',
      [
        {
          title: 'Outcomes',
          unit: 'ops',
          description: 'Attempts to send a message a second, by outcome.',
          series: [['sum by (outcome) (rate(everpost_email_outcomes_total[5m]))', '{{outcome}}']],
        },
        {
          title: 'Accepted, by provider',
          unit: 'ops',
          description: 'Messages a second that each kind of mail provider has accepted.',
          series: [
            [
              'sum by (provider) (rate(everpost_email_outcomes_total{outcome="accepted"}[5m]))',
              '{{provider}}',
            ],
          ],
        },
        {
          title: 'Refused or unknown',
          unit: 'percentunit',
          description: 'The share of attempts that were refused, or whose outcome is unknown.',
          series: [
            [
              'sum(rate(everpost_email_outcomes_total{outcome=~"refused|uncertain"}[10m])) / sum(rate(everpost_email_outcomes_total[10m]))',
              'share',
            ],
          ],
        },
      ],
    ],
    [
      'What went wrong',
      [
        {
          title: 'Unknown outcomes',
          unit: 'short',
          description: 'Messages that may have been sent. The sweep settles them.',
          series: [['max(everpost_email_unknown)', 'unknown']],
        },
        {
          title: 'Failing providers',
          unit: 'short',
          description: 'Mail providers to which no mail is sent now, because they fail.',
          series: [['max(everpost_provider_circuits_open)', 'providers']],
        },
        {
          title: 'Mail of dead workers',
          unit: 'short',
          description: 'Messages an hour that were returned from a dead worker, by its journal.',
          series: [['sum(increase(everpost_email_returned_total[1h]))', 'returned']],
        },
        {
          title: 'Journal failures',
          unit: 'short',
          description: 'Lines of journals an hour that could not be written.',
          series: [
            ['sum by (instance) (increase(everpost_journal_failures_total[1h]))', '{{instance}}'],
          ],
        },
      ],
    ],
  ],
};
