import type * as Sdk from '@aws-sdk/client-sesv2';

export interface SesAccount {
  region: string;
  /**
   * Without keys the SDK searches credentials itself: environment, profile, or the machine's role.
   */
  accessKeyId?: string | undefined;
  secretAccessKey?: string | undefined;
  /** An endpoint other than the region's own. */
  endpoint?: string | undefined;
}

interface Opened {
  sdk: typeof Sdk;
  client: Sdk.SESv2Client;
}

/**
 * Creates a client of an account. It loads the SDK at the first call, so only processes that send
 * through SES load it.
 * @param config more settings of the client.
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
