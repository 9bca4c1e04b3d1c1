import { z } from 'zod';
import { domainOf } from '../../domain/email-address.ts';
import { Problem } from '../../domain/errors.ts';
import { type AddressFindings, judgeAddress } from '../../domain/mail/verify-email.ts';
import { DnsError } from '../../providers/dns.ts';
import { endpoint } from '../http/endpoint.ts';
import type { Services } from '../services/services.ts';
import { Email } from '../http/schemas.ts';

export const verify = endpoint({
  id: 'verify',
  method: 'POST',
  path: '/v1/verify',
  summary: 'Check an email address; nothing is stored or sent',
  description:
    'Checks the address and asks DNS about its domain. A malformed address is refused with ' +
    'VALIDATION_ERROR; any other returns findings, even if it is not `valid`. ' +
    'SERVICE_UNAVAILABLE: DNS did not answer. Idempotency-Key is ignored.',
  access: 'secret',
  idempotent: false,
  wrapped: true,
  body: z.object({ email: Email }),
  response: z.object({
    email: z.string(),
    valid: z.boolean().meta({ description: 'The domain exists and accepts mail' }),
    isDisposable: z.boolean(),
    isAlias: z.boolean().meta({ description: 'The domain forwards to another mailbox' }),
    isTypo: z.boolean().meta({ description: 'The domain is one letter off a large provider' }),
    isPlusAddressed: z.boolean(),
    isPersonalEmail: z.boolean(),
    domainExists: z.boolean(),
    hasWebsite: z.boolean(),
    hasMxRecords: z.boolean(),
    suggestedEmail: z.string().optional().meta({ description: 'Only when isTypo' }),
    reasons: z.array(z.string()).min(1).meta({ description: 'The findings in words' }),
  }),
  problems: ['SERVICE_UNAVAILABLE'],
  example: {
    body: { email: 'ada@gmial.com' },
    response: {
      email: 'ada@gmial.com',
      valid: true,
      isDisposable: false,
      isAlias: false,
      isTypo: true,
      isPlusAddressed: false,
      isPersonalEmail: false,
      domainExists: true,
      hasWebsite: true,
      hasMxRecords: true,
      suggestedEmail: 'ada@gmail.com',
      reasons: ['The domain looks misspelled.'],
    },
  },
  handle: (call) => verifyAddress(call, call.body.email),
});

/**
 * Checks an address in its stored form.
 * @throws Problem SERVICE_UNAVAILABLE when DNS does not respond.
 */
export async function verifyAddress(
  { dns, domainLists }: Pick<Services, 'dns' | 'domainLists'>,
  email: string,
): Promise<AddressFindings> {
  try {
    return judgeAddress(email, await dns.findMailHost(domainOf(email)), domainLists);
  } catch (error) {
    if (!(error instanceof DnsError)) throw error;
    throw new Problem('SERVICE_UNAVAILABLE', {
      message: `DNS did not answer the query for ${domainOf(email)}.`,
      suggestion: 'Repeat the request in a minute.',
    });
  }
}
