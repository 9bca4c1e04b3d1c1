import type * as Sdk from '@aws-sdk/client-sesv2';

export interface SesAccount {
  region: string;
  /**
   * Without keys, the SDK looks for credentials: in the environment, in a profile, or in the role
   * of the machine.
   */
  accessKeyId?: string | undefined;
  secretAccessKey?: string | undefined;
  /** An endpoint that replaces the endpoint of the region. */
  endpoint?: string | undefined;
}

interface Opened {
  sdk: typeof Sdk;
  client: Sdk.SESv2Client;
}

/**
 * Creates a client for an account. The SDK is loaded at the first call, so only processes that use
 * SES load it.
 * @param config more settings for the SDK's client
 */
export function sesClient(
  account: SesAccount,
  config: Sdk.SESv2ClientConfig,
): () => Promise<Opened> {
  let opened: Promise<Opened> | undefined;
  return () => (opened ??= open(account, config));
}

async function open(account: SesAccount, config: Sdk.SESv2ClientConfig): Promise<Opened> {
  const { region, accessKeyId, secretAccessKey, endpoint } = account;
  const sdk = await import('@aws-sdk/client-sesv2');
  const client = new sdk.SESv2Client({
    region,
    ...(accessKeyId && secretAccessKey ? { credentials: { accessKeyId, secretAccessKey } } : {}),
    ...(endpoint ? { endpoint } : {}),
    ...config,
  });
  return { sdk, client };
}
