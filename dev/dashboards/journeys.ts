import type { Dashboard } from './grafana.ts';

export const journeys: Dashboard = {
  name: 'journeys',
  title: 'journeys and workers',
  rows: [
    [
      'Executions',
      [
        {
          title: 'Failed executions',
          unit: 'short',
          description: 'Executions an hour that failed because a step failed for good.',
          series: [['sum(increase(everpost_executions_failed_total[1h]))', 'failed']],
        },
        {
          title: 'Stuck executions',
          unit: 'short',
          description: 'Executions whose run cannot continue, counted up to 10,000.',
          series: [['max(everpost_executions_stuck)', 'stuck']],
        },
        {
          title: 'Age of the oldest stuck execution',
          unit: 's',
          description: 'For how long the oldest stuck execution has not continued.',
          series: [['max(everpost_executions_stuck_age_seconds)', 'age']],
        },
      ],
    ],
    [
      'Task queues',
      [
        {
          title: 'Waiting tasks',
          unit: 'short',
          description: 'Tasks that wait for a worker, by queue.',
          series: [['max by (queue, kind) (everpost_queue_tasks)', '{{queue}} ({{kind}})']],
        },
        {
          title: 'Age of the oldest task',
          unit: 's',
          description: 'If it grows, workers cannot keep up.',
          series: [['max by (queue, kind) (everpost_queue_age_seconds)', '{{queue}} ({{kind}})']],
        },
        {
          title: 'Polling workers',
          unit: 'short',
          description: 'Workers that ask for tasks. A dead one is counted for some minutes.',
          series: [['max by (queue, kind) (everpost_queue_workers)', '{{queue}} ({{kind}})']],
        },
        {
          title: 'Activities',
          unit: 'ops',
          description: 'Attempts of activities that have ended, by result.',
          series: [['sum by (result) (rate(everpost_activities_total[5m]))', '{{result}}']],
        },
        {
          title: 'Failed activities',
          unit: 'ops',
          description: 'Attempts of activities that failed, by queue. They are tried again.',
          series: [
            ['sum by (queue) (rate(everpost_activities_total{result="failed"}[5m]))', '{{queue}}'],
          ],
        },
        {
          title: 'Failed workflow tasks',
          unit: 'short',
          description: 'An hour: code of workers that does not fit open runs, or has an error.',
          series: [['sum(increase(everpost_workflow_task_failures_total[1h]))', 'failed']],
        },
        {
          title: 'Latency of activities',
          unit: 's',
          description: 'Time from the schedule of an activity to its start: 99 of 100 take less.',
          series: [
            [
              'histogram_quantile(0.99, sum by (le) (rate(everpost_temporal_activity_schedule_to_start_latency_seconds_bucket[5m])))',
              'p99',
            ],
          ],
        },
      ],
    ],
    [
      'Upkeep',
      [
        {
          title: 'Outbox',
          unit: 'short',
          description: 'Starts and signals that Temporal has not received yet.',
          series: [['max(everpost_outbox_entries)', 'entries']],
        },
        {
          title: 'Age of the outbox',
          unit: 's',
          description: 'How long the oldest entry of the outbox has waited.',
          series: [['max(everpost_outbox_age_seconds)', 'age']],
        },
        {
          title: 'Sweeps',
          unit: 'cpm',
          description: 'Sweeps a minute: two while all is well.',
          series: [['sum(rate(everpost_sweep_runs_total[5m])) * 60', 'sweeps']],
        },
        {
          title: 'Failed tasks of the sweep',
          unit: 'short',
          description: 'Failed attempts an hour, by task. They are tried again.',
          series: [
            ['sum by (task) (increase(everpost_sweep_task_failures_total[1h]))', '{{task}}'],
          ],
        },
      ],
    ],
  ],
};
