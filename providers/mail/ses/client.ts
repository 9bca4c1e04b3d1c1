import type * as Sdk from '@aws-sdk/client-sesv2';

export interface SesAccount {
  region: string;
  /** Without keys the SDK finds credentials itself: environment, profile, or the machine's role. */
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
 * A client of an account, made at the first call: only who sends through SES should load the SDK.
 * @param config more of the client's own settings
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
