/** Values with which the chart must work, or must be refused. */

/** All that is required. */
const required = {
  apiUrl: 'https://mail.shop.example',
  jwtSecret: 'only-for-a-test-0123456789abcdefghijklmnop',
  database: { url: 'postgres://everpost:password-of-the-test@postgres:5432/everpost' },
  temporal: { address: 'temporal:7233' },
};

const switches = ['ingress', 'networkPolicy', 'serviceMonitor', 'prometheusRule', 'dashboards'];
const allSwitched = (enabled: boolean) =>
  Object.fromEntries(switches.map((name) => [name, { enabled }]));

export interface ChartCase {
  name: string;
  values: Record<string, unknown>;
}

export const accepted: readonly ChartCase[] = [
  { name: 'what is required', values: required },
  {
    name: 'all on',
    values: {
      ...required,
      ...allSwitched(true),
      ingress: { enabled: true, className: 'nginx', tlsSecret: 'shop-tls' },
      networkPolicy: {
        enabled: true,
        metricsFrom: [{ namespaceSelector: { matchLabels: { team: 'monitoring' } } }],
      },
      image: { pullSecrets: ['registry'] },
      uploads: { driver: 's3' },
      env: { S3_BUCKET: 'files', S3_ACCESS_KEY_SECRET: 'secret-of-s3', MAX_MESSAGE_SIZE_MB: 40 },
      api: {
        autoscaling: { enabled: true },
        nodeSelector: { disk: 'ssd' },
        tolerations: [{ key: 'mail', operator: 'Exists' }],
        podAnnotations: { team: 'mail' },
      },
      worker: { autoscaling: { enabled: true } },
    },
  },
  {
    name: 'all off',
    values: { ...required, ...allSwitched(false), metrics: { enabled: false } },
  },
  {
    name: 'existing secrets',
    values: {
      ...required,
      jwtSecret: '',
      existingSecret: 'everpost-settings',
      database: { existingSecret: 'everpost-database' },
      serviceMonitor: { enabled: true },
    },
  },
  {
    name: 'local uploads',
    values: {
      ...required,
      uploads: { driver: 'local', storageClass: 'shared' },
      api: { replicas: 1 },
      worker: { autoscaling: { enabled: true, metric: 'cpu' } },
    },
  },
];

export interface RefusedCase extends ChartCase {
  /** A part of the message. */
  message: string;
}

const { apiUrl: _, ...withoutApiUrl } = required;
const { jwtSecret: __, ...withoutSecret } = required;
const { database: ___, ...withoutDatabase } = required;
const { temporal: ____, ...withoutTemporal } = required;

export const refused: readonly RefusedCase[] = [
  { name: 'no apiUrl', values: withoutApiUrl, message: 'apiUrl is required' },
  { name: 'no database', values: withoutDatabase, message: 'A database is required' },
  { name: 'no Temporal', values: withoutTemporal, message: 'temporal.address is required' },
  { name: 'no secret', values: withoutSecret, message: 'A secret is required' },
  {
    name: 'two secrets',
    values: { ...required, existingSecret: 'other' },
    message: 'Set one of jwtSecret and existingSecret',
  },
  {
    name: 'local uploads and two replicas',
    values: { ...required, uploads: { driver: 'local' } },
    message: 'uploads.driver=local allows one replica',
  },
  {
    name: 'a ServiceMonitor without metrics',
    values: { ...required, metrics: { enabled: false }, serviceMonitor: { enabled: true } },
    message: 'serviceMonitor.enabled needs metrics.enabled',
  },
  {
    name: 'a setting of the chart in env',
    values: { ...required, env: { PORT: '9000' } },
    message: 'env.PORT is set by the chart',
  },
  { name: 'an unknown value', values: { ...required, replicas: 3 }, message: 'replicas' },
  {
    name: 'an unknown value further down',
    values: { ...required, api: { replica: 3 } },
    message: 'replica',
  },
  { name: 'a wrong type', values: { ...required, api: { replicas: 'two' } }, message: 'replicas' },
  {
    name: 'one replica at least when scaled',
    values: { ...required, worker: { autoscaling: { enabled: true, minReplicas: 1 } } },
    message: 'minReplicas',
  },
  {
    name: 'a worker without time to hand over its mail',
    values: { ...required, worker: { terminationGracePeriodSeconds: 30 } },
    message: 'terminationGracePeriodSeconds',
  },
];
