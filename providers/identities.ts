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

/** The sender domains as the mail provider knows them. Each call may be repeated. */
export interface Identities {
  mode: 'ses' | 'local';
  /** Registers a domain; one that is registered already answers the tokens it has. */
  create(domain: string): Promise<{ dkimTokens: string[] }>;
  /** Whether the provider itself has found the DKIM records. Local mode has no second opinion. */
  status(domain: string): Promise<{ dkimVerified: boolean }>;
  /** Forgets a domain; one it does not know is no error. */
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
}

/** The provider could not be reached or did not do what was asked; worth a later try. */
export class IdentityProviderError extends Error {
  override readonly name = 'IdentityProviderError';
}

/** The identities the settings ask for. Failures in SES mode are `IdentityProviderError`. */
export function createIdentities(settings: IdentitySettings): Identities {
  return settings.ses ? sesIdentities(settings.ses, settings.mailFromSubdomain) : localIdentities();
}

const TOKEN_ALPHABET = 'abcdefghijklmnopqrstuvwxyz0123456789';
/** SES's tokens have this length; ours look the same. */
const TOKEN_CHARS = 32;

function localIdentities(): Identities {
  return {
    mode: 'local',
    async create() {
      return { dkimTokens: [randomToken(), randomToken(), randomToken()] };
    },
    async status() {
      return { dkimVerified: true };
    },
    async remove() {},
  };
}

function randomToken(): string {
  return Array.from({ length: TOKEN_CHARS }, () =>
    TOKEN_ALPHABET.charAt(randomInt(TOKEN_ALPHABET.length)),
  ).join('');
}

function sesIdentities(
  { region, accessKeyId, secretAccessKey, endpoint }: NonNullable<IdentitySettings['ses']>,
  mailFromSubdomain: string,
): Identities {
  const client = new SESv2Client({
    region,
    ...(accessKeyId && secretAccessKey ? { credentials: { accessKeyId, secretAccessKey } } : {}),
    ...(endpoint ? { endpoint } : {}),
    // Somebody waits for the answer; without these a silent endpoint would hold them for minutes.
    requestHandler: {
      connectionTimeout: 5_000,
      requestTimeout: 15_000,
      throwOnRequestTimeout: true,
    },
  });
  const dkimOf = async (domain: string) =>
    (await client.send(new GetEmailIdentityCommand({ EmailIdentity: domain }))).DkimAttributes;

  return {
    mode: 'ses',
    create: (domain) =>
      asked(async () => {
        const dkim = await client
          .send(new CreateEmailIdentityCommand({ EmailIdentity: domain }))
          .then((created) => created.DkimAttributes)
          .catch(unless(AlreadyExistsException, () => dkimOf(domain)));
        await client.send(
          new PutEmailIdentityMailFromAttributesCommand({
            EmailIdentity: domain,
            MailFromDomain: `${mailFromSubdomain}.${domain}`,
            // Without its MX record mail still leaves, from SES's own domain.
            BehaviorOnMxFailure: 'USE_DEFAULT_VALUE',
          }),
        );
        if (!dkim?.Tokens?.length) throw new Error(`SES has no DKIM tokens for ${domain}`);
        return { dkimTokens: dkim.Tokens };
      }),
    status: (domain) =>
      asked(async () => {
        // An identity that somebody deleted in SES is not verified; that is an answer, not a fault.
        const dkim = await dkimOf(domain).catch(unless(NotFoundException, () => undefined));
        return { dkimVerified: dkim?.Status === 'SUCCESS' };
      }),
    remove: (domain) =>
      asked(async () => {
        await client
          .send(new DeleteEmailIdentityCommand({ EmailIdentity: domain }))
          .catch(unless(NotFoundException, () => undefined));
      }),
  };
}

/** Runs calls to the provider; whatever fails becomes an `IdentityProviderError`. */
async function asked<T>(calls: () => Promise<T>): Promise<T> {
  try {
    return await calls();
  } catch (error) {
    throw new IdentityProviderError(`The mail provider failed: ${String(error)}`, { cause: error });
  }
}

/** A rejection handler that answers one kind of error and passes on the others. */
function unless<T>(kind: new (...args: never[]) => Error, answer: () => T) {
  return (error: unknown): T => {
    if (error instanceof kind) return answer();
    throw error;
  };
}
