import type { CreateProviderRequest, SesProvider, SmtpProvider } from '../../../api/api.ts';

export type OwnProvider = SmtpProvider | SesProvider;

/**
 * The values of the form of a provider. If the field of a secret is empty, the stored secret is not
 * changed.
 */
export interface ProviderValues {
  name: string;
  kind: 'smtp' | 'ses';
  host: string;
  port: string;
  security: SmtpProvider['security'];
  user: string;
  password: string;
  region: string;
  accessKeyId: string;
  secretAccessKey: string;
  configurationSet: string;
  snsTopicArn: string;
  feedback: SmtpProvider['feedback'];
  feedbackSecret: string;
  /** Sender domains that the provider may serve, one per line; empty: all sender domains. */
  domains: string;
  ratePerSecond: string;
  maxMessageMb: string;
  ownSigning: boolean;
}

export const newProvider: ProviderValues = {
  name: '',
  kind: 'smtp',
  host: '',
  port: '587',
  security: 'starttls',
  user: '',
  password: '',
  region: '',
  accessKeyId: '',
  secretAccessKey: '',
  configurationSet: '',
  snsTopicArn: '',
  feedback: 'dsn',
  feedbackSecret: '',
  domains: '',
  ratePerSecond: '',
  maxMessageMb: '',
  ownSigning: true,
};

export function valuesOf(provider: OwnProvider): ProviderValues {
  const shared = {
    ...newProvider,
    name: provider.name,
    domains: provider.domains?.join('\n') ?? '',
    ratePerSecond: provider.ratePerSecond?.toString() ?? '',
    maxMessageMb: provider.maxMessageMb?.toString() ?? '',
    ownSigning: provider.ownSigning,
  };
  if (provider.kind === 'ses') {
    const { kind, region, accessKeyId, configurationSet, snsTopicArn } = provider;
    return {
      ...shared,
      kind,
      region,
      accessKeyId,
      configurationSet: configurationSet ?? '',
      snsTopicArn: snsTopicArn ?? '',
    };
  }
  const { kind, host, port, security, user, feedback } = provider;
  return { ...shared, kind, host, port: String(port), security, user: user ?? '', feedback };
}

const orNull = (text: string) => text.trim() || null;
const numberOrNull = (text: string) => (text.trim() === '' ? null : Number(text));
const given = (name: string, text: string) => (text === '' ? {} : { [name]: text });

export function bodyOf(values: ProviderValues): CreateProviderRequest {
  const { name, kind, ownSigning } = values;
  const domains = values.domains.split(/[\s,]+/).filter((domain) => domain !== '');
  const shared = {
    name,
    kind,
    ownSigning,
    domains: domains.length === 0 ? null : domains,
    ratePerSecond: numberOrNull(values.ratePerSecond),
    maxMessageMb: numberOrNull(values.maxMessageMb),
  };
  if (kind === 'ses') {
    return {
      ...shared,
      region: values.region,
      accessKeyId: values.accessKeyId,
      ...given('secretAccessKey', values.secretAccessKey),
      configurationSet: orNull(values.configurationSet),
      snsTopicArn: orNull(values.snsTopicArn),
    };
  }
  return {
    ...shared,
    host: values.host,
    port: Number(values.port),
    security: values.security,
    user: orNull(values.user),
    ...given('password', values.password),
    feedback: values.feedback,
    ...given('feedbackSecret', values.feedbackSecret),
  };
}

/** Returns the changed fields of a provider. */
export function changesOf(provider: OwnProvider, values: ProviderValues): object {
  const before: Record<string, unknown> = { ...bodyOf(valuesOf(provider)) };
  return Object.fromEntries(
    Object.entries(bodyOf(values)).filter(
      ([key, value]) => JSON.stringify(value) !== JSON.stringify(before[key]),
    ),
  );
}
