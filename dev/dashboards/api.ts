import type { Dashboard } from './grafana.ts';

const busiest = 'topk(10, sum by (method, route) (rate(everpost_http_requests_total[5m])))';

export const api: Dashboard = {
  name: 'api',
  title: 'API',
  rows: [
    [
      'Requests',
      [
        {
          title: 'Requests',
          unit: 'reqps',
          description: 'Requests a second, by status.',
          series: [['sum by (status) (rate(everpost_http_requests_total[5m]))', '{{status}}']],
        },
        {
          title: 'Busiest endpoints',
          unit: 'reqps',
          description: 'The ten endpoints with most requests.',
          series: [[busiest, '{{method}} {{route}}']],
        },
        {
          title: 'Failed requests',
          unit: 'percentunit',
          description: 'The share of requests that were answered with 5xx.',
          series: [
            [
              'sum(rate(everpost_http_requests_total{status=~"5.."}[5m])) / sum(rate(everpost_http_requests_total[5m]))',
              'share',
            ],
          ],
        },
      ],
    ],
    [
      'Time',
      [
        {
          title: 'Duration',
          unit: 's',
          description: 'Time of a request: half of them, 95 and 99 of 100 take less.',
          series: [0.5, 0.95, 0.99].map(
            (share) =>
              [
                `histogram_quantile(${share}, sum by (le) (rate(everpost_http_request_duration_seconds_bucket[5m])))`,
                `p${share * 100}`,
              ] as const,
          ),
        },
        {
          title: 'Slowest endpoints',
          unit: 's',
          description: 'The ten endpoints with the longest mean time.',
          series: [
            [
              'topk(10, sum by (method, route) (rate(everpost_http_request_duration_seconds_sum[5m])) / sum by (method, route) (rate(everpost_http_request_duration_seconds_count[5m])))',
              '{{method}} {{route}}',
            ],
          ],
        },
        {
          title: 'Missing in the request log',
          unit: 'short',
          description: 'Requests an hour that are not in the request log, because it was too slow.',
          series: [['sum(increase(everpost_request_log_dropped_total[1h]))', 'missing']],
        },
      ],
    ],
  ],
};
