import type { Dashboard } from './grafana.ts';

export const platform: Dashboard = {
  name: 'platform',
  title: 'platform',
  rows: [
    [
      'PostgreSQL',
      [
        {
          title: 'Connections',
          unit: 'short',
          description: 'Database connections of all processes; waiting: requests without one.',
          series: [
            ['sum by (state) (everpost_database_connections)', '{{state}}'],
            ['sum(everpost_database_connections_max)', 'maximum'],
          ],
        },
        {
          title: 'Size of the database',
          unit: 'bytes',
          description: 'How much the database takes on its disk.',
          series: [['max(everpost_database_bytes)', 'size']],
        },
        {
          title: 'Largest tables',
          unit: 'bytes',
          description: 'The ten largest tables with their indexes.',
          series: [['topk(10, max by (table) (everpost_table_bytes))', '{{table}}']],
        },
      ],
    ],
    [
      'Disks, clocks and Temporal',
      [
        {
          title: 'Free disk',
          unit: 'percentunit',
          description: 'The free share of the disks of data, uploads and journals.',
          series: [
            [
              'min by (instance, for) (everpost_disk_free_bytes / everpost_disk_total_bytes)',
              '{{for}} of {{instance}}',
            ],
          ],
        },
        {
          title: 'Clocks',
          unit: 's',
          description: 'How far the clock of a process differs from that of the servers.',
          series: [
            ['max by (instance, to) (abs(everpost_clock_offset_seconds))', '{{instance}}: {{to}}'],
          ],
        },
        {
          title: 'Retention of Temporal',
          unit: 's',
          description: 'How long Temporal keeps the histories of ended runs.',
          series: [['min(everpost_temporal_retention_seconds)', 'retention']],
        },
      ],
    ],
    [
      'Processes',
      [
        {
          title: 'Processor',
          unit: 'percentunit',
          description: 'Processors that each process uses; 1 is a whole one.',
          series: [['rate(everpost_process_cpu_seconds_total[5m])', '{{instance}}']],
        },
        {
          title: 'Memory',
          unit: 'bytes',
          description: 'Memory of each process.',
          series: [['everpost_process_resident_memory_bytes', '{{instance}}']],
        },
        {
          title: 'Delay of the event loop',
          unit: 's',
          description: 'How long one event in a hundred waits, and more.',
          series: [['everpost_nodejs_eventloop_lag_p99_seconds', '{{instance}}']],
        },
      ],
    ],
  ],
};
