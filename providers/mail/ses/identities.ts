import {
  type Identities,
  type Identity,
  IdentityProviderError,
  type RecordSettings,
  recordsBy,
} from '../identities.ts';
import { type SesAccount, sesClient } from './client.ts';

/** Maximum number of milliseconds of one call, including retries by the SDK. */
const callsMs = 30_000;

/** Manages the sender domains of an SES account. Every failure is an `IdentityProviderError`. */
export function sesIdentities(account: SesAccount, records: RecordSettings): Identities {
  const { region } = account;
  const opened = sesClient(account, {
    // A user waits for the response, and without these limits a silent endpoint would block for
    // minutes.
    requestHandler: {
      connectionTimeout: 5_000,
      requestTimeout: 15_000,
      throwOnRequestTimeout: true,
    },
  });
  const find = async (domain: string, options: RequestOptions): Promise<Identity | null> => {
    const { client, sdk } = await opened();
    const dkim = await client
      .send(new sdk.GetEmailIdentityCommand({ EmailIdentity: domain }), options)
      .then(({ DkimAttributes = {} }) => DkimAttributes)
      .catch(unless(sdk.NotFoundException, () => null));
    if (!dkim) return null;
    // With the customer's own keys (BYODKIM), the only token is the selector of a TXT record, which
    // is no CNAME.
    const dkimTokens = dkim.SigningAttributesOrigin === 'EXTERNAL' ? [] : (dkim.Tokens ?? []);
    return { dkimTokens, dkimVerified: dkim.Status === 'SUCCESS' };
  };

  return {
    verifiesReservedNames: false,
    keepsDomains: true,
    ...recordsBy({ ...records, transport: 'ses', region }),
    find: (domain) => asked((options) => find(domain, options)),
    create: (domain) =>
      asked(async (options) => {
        const { client, sdk } = await opened();
        const tokens = await client
          .send(new sdk.CreateEmailIdentityCommand({ EmailIdentity: domain }), options)
          .then((created) => created.DkimAttributes?.Tokens)
          .catch(
            unless(
              sdk.AlreadyExistsException,
              async () => (await find(domain, options))?.dkimTokens,
            ),
          );
        await client.send(
          new sdk.PutEmailIdentityMailFromAttributesCommand({
            EmailIdentity: domain,
            MailFromDomain: `${records.mailFromSubdomain}.${domain}`,
            // If the MX record is missing, SES still sends the mail, with its own return path.
            BehaviorOnMxFailure: 'USE_DEFAULT_VALUE',
          }),
          options,
        );
        if (!tokens?.length) throw new Error(`SES has no DKIM tokens for ${domain}`);
        return { dkimTokens: tokens };
      }),
    remove: (domain) =>
      asked(async (options) => {
        const { client, sdk } = await opened();
        await client
          .send(new sdk.DeleteEmailIdentityCommand({ EmailIdentity: domain }), options)
          .catch(unless(sdk.NotFoundException, () => undefined));
      }),
  };
}

interface RequestOptions {
  abortSignal: AbortSignal;
}

/** Makes calls to SES. Any failure or timeout becomes an `IdentityProviderError`. */
async function asked<T>(calls: (options: RequestOptions) => Promise<T>): Promise<T> {
  try {
    return await calls({ abortSignal: AbortSignal.timeout(callsMs) });
  } catch (error) {
    throw new IdentityProviderError(`Amazon SES failed: ${String(error)}`, { cause: error });
  }
}

/**
 * Returns a rejection handler that returns a value for one class of errors, and rethrows all
 * others.
 */
function unless<T>(kind: new (...args: never[]) => Error, answer: () => T) {
  return (error: unknown): T => {
    if (error instanceof kind) return answer();
    throw error;
  };
}
