import { randomInt } from 'node:crypto';
import {
  AlreadyExistsException,
  CreateEmailIdentityCommand,
  DeleteEmailIdentityCommand,
  GetEmailIdentityCommand,
  NotFoundException,
  PutEmailIdentityMailFromAttributesCommand,
  SESv2Client,
} from '@aws-sdk/client-sesv2';
import {
  type DnsRecord,
  type DomainClaim,
  senderRecords,
} from '../../domain/sender/domain-name.ts';

/** A sender domain at the mail provider. */
export interface Identity {
  /** Names of its DKIM records; none where it signs with the customer's own keys. */
  dkimTokens: string[];
  /** True if the provider has found the DKIM records. */
  dkimVerified: boolean;
}

/** The sender domains at the mail provider. Each call may be repeated. */
export interface Identities {
  /** Names that exist in no DNS count as verified. */
  verifiesReservedNames: boolean;
  /** True if the provider keeps domains in an account, and checks their DNS records itself. */
  keepsDomains: boolean;
  /** The DNS records that a claimed domain needs. */
  dnsRecords(claim: DomainClaim): DnsRecord[];
  /** Reads what the provider has of a domain; null: nothing. */
  find(domain: string): Promise<Identity | null>;
  /**
   * Registers a domain with its MAIL FROM domain. For a domain that is registered already, this
   * sets the MAIL FROM domain again, so call `find` first and check who created it.
   */
  create(domain: string): Promise<{ dkimTokens: string[] }>;
  /** Removes a domain; an unknown one is no error. */
  remove(domain: string): Promise<void>;
}

export interface IdentitySettings {
  /** Set = SES mode. */
  ses: {
    region: string;
    /** Without keys the SDK finds credentials itself. */
    accessKeyId?: string | undefined;
    secretAccessKey?: string | undefined;
    endpoint?: string | undefined;
  } | null;
  /** Prefix of the MAIL FROM domain, such as `mail`. */
  mailFromSubdomain: string;
  /** Target of the DKIM records, such as `dkim.amazonses.com`. */
  dkimTargetHost: string;
}

/** The provider could not be reached or failed; a later try may succeed. */
export class IdentityProviderError extends Error {
  override readonly name = 'IdentityProviderError';
}

/** The configured identities. Failures in SES mode are `IdentityProviderError`. */
export function createIdentities(settings: IdentitySettings): Identities {
  return settings.ses ? sesIdentities(settings.ses, settings) : localIdentities(settings);
}

const tokenAlphabet = 'abcdefghijklmnopqrstuvwxyz0123456789';
/** The length of SES's tokens; ours look the same. */
const tokenChars = 32;

function localIdentities(settings: IdentitySettings): Identities {
  return {
    verifiesReservedNames: true,
    keepsDomains: false,
    // There is no region; the return paths lead nowhere.
    dnsRecords: (claim) =>
      senderRecords(claim, { ...settings, region: 'us-east-1', ownershipRecord: false }),
    async create() {
      return { dkimTokens: [randomToken(), randomToken(), randomToken()] };
    },
    async find() {
      return null;
    },
    async remove() {},
  };
}

function randomToken(): string {
  return Array.from({ length: tokenChars }, () =>
    tokenAlphabet.charAt(randomInt(tokenAlphabet.length)),
  ).join('');
}

/** Total time of one call, including the SDK's retries, in ms. */
const callsMs = 30_000;

function sesIdentities(
  { region, accessKeyId, secretAccessKey, endpoint }: NonNullable<IdentitySettings['ses']>,
  settings: IdentitySettings,
): Identities {
  const client = new SESv2Client({
    region,
    ...(accessKeyId && secretAccessKey ? { credentials: { accessKeyId, secretAccessKey } } : {}),
    ...(endpoint ? { endpoint } : {}),
    // A user waits for the response; without these a silent endpoint would block for minutes.
    requestHandler: {
      connectionTimeout: 5_000,
      requestTimeout: 15_000,
      throwOnRequestTimeout: true,
    },
  });
  const find = async (domain: string, options: RequestOptions): Promise<Identity | null> => {
    const dkim = await client
      .send(new GetEmailIdentityCommand({ EmailIdentity: domain }), options)
      .then(({ DkimAttributes = {} }) => DkimAttributes)
      .catch(unless(NotFoundException, () => null));
    if (!dkim) return null;
    // With the customer's own keys (BYODKIM) the only token is the selector of a TXT record.
    const dkimTokens = dkim.SigningAttributesOrigin === 'EXTERNAL' ? [] : (dkim.Tokens ?? []);
    return { dkimTokens, dkimVerified: dkim.Status === 'SUCCESS' };
  };

  return {
    verifiesReservedNames: false,
    keepsDomains: true,
    dnsRecords: (claim) => senderRecords(claim, { ...settings, region, ownershipRecord: true }),
    find: (domain) => asked((options) => find(domain, options)),
    create: (domain) =>
      asked(async (options) => {
        const tokens = await client
          .send(new CreateEmailIdentityCommand({ EmailIdentity: domain }), options)
          .then((created) => created.DkimAttributes?.Tokens)
          .catch(
            unless(AlreadyExistsException, async () => (await find(domain, options))?.dkimTokens),
          );
        await client.send(
          new PutEmailIdentityMailFromAttributesCommand({
            EmailIdentity: domain,
            MailFromDomain: `${settings.mailFromSubdomain}.${domain}`,
            // Without its MX record mail is still sent, from SES's own domain.
            BehaviorOnMxFailure: 'USE_DEFAULT_VALUE',
          }),
          options,
        );
        if (!tokens?.length) throw new Error(`SES has no DKIM tokens for ${domain}`);
        return { dkimTokens: tokens };
      }),
    remove: (domain) =>
      asked(async (options) => {
        await client
          .send(new DeleteEmailIdentityCommand({ EmailIdentity: domain }), options)
          .catch(unless(NotFoundException, () => undefined));
      }),
  };
}

interface RequestOptions {
  abortSignal: AbortSignal;
}

/** Runs calls to the provider; any failure or timeout becomes an `IdentityProviderError`. */
async function asked<T>(calls: (options: RequestOptions) => Promise<T>): Promise<T> {
  try {
    return await calls({ abortSignal: AbortSignal.timeout(callsMs) });
  } catch (error) {
    throw new IdentityProviderError(`The mail provider failed: ${String(error)}`, { cause: error });
  }
}

/** A rejection handler that returns a value for one kind of error and rethrows others. */
function unless<T>(kind: new (...args: never[]) => Error, answer: () => T) {
  return (error: unknown): T => {
    if (error instanceof kind) return answer();
    throw error;
  };
}
