import { timingSafeEqual } from 'node:crypto';
import { provenEmailId, returnPathOf } from '../domain/mail/return-path.ts';
import { derivedTokens, type Secrets } from './encryption.ts';

/** Makes and reads return paths: the envelope senders of messages, to which reports are sent. */
export interface ReturnPaths {
  /**
   * Returns the return path of a message.
   * @param emailId id of the message's row. Reports about a message without a row are ignored
   * @param senderDomain domain of the `From` address
   */
  pathOf(emailId: string, senderDomain: string): string;
  /** Returns the return path of a message at a host that receives reports. */
  pathAt(emailId: string, host: string): string;
  /**
   * Returns the id of the message for which a return path was made; null: Everpost has not made the
   * address.
   */
  emailIdOf(address: string): string | null;
}

/**
 * Creates the functions for return paths.
 * @param secrets return paths made with a previous secret are still valid
 * @param domain RETURN_PATH_DOMAIN; null: reports go to the sender domain, and Everpost does not
 * receive them
 */
export function createReturnPaths(
  secrets: Pick<Secrets, 'jwtSecret' | 'jwtSecretsPrevious'>,
  domain: string | null,
): ReturnPaths {
  const proofsOf = (emailId: string) => derivedTokens(secrets, 'return paths', emailId);
  const isProof = (emailId: string, proof: string) =>
    proofsOf(emailId).some((token) =>
      timingSafeEqual(Buffer.from(token.slice(0, proof.length)), Buffer.from(proof)),
    );
  const pathAt = (emailId: string, host: string) =>
    returnPathOf(emailId, host, (id) => proofsOf(id)[0]!);
  return {
    pathAt,
    pathOf: (emailId, senderDomain) =>
      domain === null ? `bounce@${senderDomain}` : pathAt(emailId, domain),
    emailIdOf: (address) => provenEmailId(address, isProof),
  };
}
