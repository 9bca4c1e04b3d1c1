import type { Dashboard } from './grafana.ts';

export const overview: Dashboard = {
  name: 'overview',
  title: 'overview',
  rows: [
    [
      'Does it work?',
      [
        {
          title: 'Workers',
          unit: 'short',
          description: 'Live workers. With none, mail and steps wait.',
          series: [['max(everpost_workers_live)', 'workers']],
          as: 'stat',
        },
        {
          title: 'Last sweep',
          unit: 's',
          description: 'Since the newest sweep began: at most a minute while all is well.',
          series: [['max(everpost_sweep_age_seconds)', 'age']],
          as: 'stat',
        },
        {
          title: 'Oldest due mail',
          unit: 's',
          description: 'How long the oldest message that could leave has waited.',
          series: [['max(everpost_email_due_age_seconds)', 'age']],
          as: 'stat',
        },
        {
          title: 'Failing providers',
          unit: 'short',
          description: 'Mail providers to which no mail is sent now, because they fail.',
          series: [['max(everpost_provider_circuits_open)', 'providers']],
          as: 'stat',
        },
        {
          title: 'Stuck executions',
          unit: 'short',
          description: 'Executions whose run cannot continue. The console says why.',
          series: [['max(everpost_executions_stuck)', 'executions']],
          as: 'stat',
        },
        {
          title: 'Open restores',
          unit: 'short',
          description: 'Restores of a server that are being repaired, or wait for a decision.',
          series: [['max(everpost_restores_open)', 'restores']],
          as: 'stat',
        },
        {
          title: 'Failed sweep tasks',
          unit: 'short',
          description: 'Failed attempts of tasks of the sweep, in an hour.',
          series: [['sum(increase(everpost_sweep_task_failures_total[1h]))', 'failed']],
          as: 'stat',
        },
        {
          title: 'Deprecated settings',
          unit: 'short',
          description: 'Settings in use that a later version will not read. The log names them.',
          series: [['max(everpost_config_deprecated)', 'settings']],
          as: 'stat',
        },
      ],
    ],
    [
      'How much does it do?',
      [
        {
          title: 'Requests',
          unit: 'reqps',
          description: 'Requests a second, by class of the status.',
          series: [
            ['sum(rate(everpost_http_requests_total{status=~"2..|3.."}[5m]))', 'accepted'],
            ['sum(rate(everpost_http_requests_total{status=~"4.."}[5m]))', 'refused (4xx)'],
            ['sum(rate(everpost_http_requests_total{status=~"5.."}[5m]))', 'failed (5xx)'],
          ],
        },
        {
          title: 'Mail',
          unit: 'ops',
          description: 'Attempts to send a message a second, by outcome.',
          series: [['sum by (outcome) (rate(everpost_email_outcomes_total[5m]))', '{{outcome}}']],
        },
        {
          title: 'Activities',
          unit: 'ops',
          description: 'What workers do for runs, a second, by task queue.',
          series: [['sum by (queue) (rate(everpost_activities_total[5m]))', '{{queue}}']],
        },
      ],
    ],
    [
      'Who runs?',
      [
        {
          title: 'Servers',
          unit: 'short',
          description: 'Processes that reach PostgreSQL and Temporal.',
          series: [
            ['sum(everpost_database_up)', 'reach PostgreSQL'],
            ['sum(everpost_temporal_up)', 'reach Temporal'],
          ],
        },
        {
          title: 'Versions',
          unit: 'short',
          description: 'Processes by their versions. During an upgrade there are two.',
          series: [['count by (version, node) (everpost_build_info)', '{{version}} on {{node}}']],
        },
      ],
    ],
  ],
};
