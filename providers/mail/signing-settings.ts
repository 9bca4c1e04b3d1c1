import { z } from 'zod';
import { hostName, text } from '../../config-fields.ts';

/** Variables for the signatures and DNS records of sender domains. */
export const signingVariables = {
  DKIM_SIGNING: z.enum(['own', 'provider']).optional(),
  RETURN_PATH_HOST: hostName,
  BOUNCE_SUBDOMAIN: z
    .string()
    .regex(/^[a-z0-9-]{1,63}$/i, 'must be one part of a host name, without dots, such as bounces')
    .default('bounces'),
  RETURN_PATH_SPF: z
    .string()
    .regex(
      /^[!-~]+( [!-~]+)*$/,
      'must be SPF mechanisms, separated by single spaces, such as include:spf.example.com',
    )
    .optional(),
  TRACKING_HOST: hostName,
  PLATFORM_DKIM_SELECTOR: z
    .string()
    .regex(
      /^[a-z0-9-]+(\.[a-z0-9-]+)*$/i,
      'must be one or more parts of a host name, such as s1 or s1.mail',
    )
    .optional(),
  PLATFORM_DKIM_KEY: text,
};

export type SigningVariables = z.output<z.ZodObject<typeof signingVariables>>;

/**
 * Returns the settings for signatures and DNS records.
 * @param spfMechanism the SPF mechanism of the server that sends; null: its records contain SPF
 * already
 */
export function signingSettings(
  env: SigningVariables & { API_URL?: string | undefined },
  spfMechanism: string | null,
) {
  return {
    /**
     * The signer of new domains' mail; null: Everpost with an SMTP server, otherwise the provider.
     */
    dkimSigning: env.DKIM_SIGNING ?? null,
    returnPath: {
      host: env.RETURN_PATH_HOST ?? null,
      subdomain: env.BOUNCE_SUBDOMAIN.toLowerCase(),
      spf: env.RETURN_PATH_SPF ?? spfMechanism,
    },
    /** Target of the DNS records of tracking hosts. */
    trackingTarget: env.TRACKING_HOST ?? new URL(env.API_URL ?? 'http://localhost').hostname,
    /**
     * The key that signs account mail sent over SMTP; null: account mail is not signed. `file`: the
     * path of a PEM file.
     */
    platformDkim:
      env.PLATFORM_DKIM_SELECTOR && env.PLATFORM_DKIM_KEY
        ? { selector: env.PLATFORM_DKIM_SELECTOR, file: env.PLATFORM_DKIM_KEY }
        : null,
  };
}
