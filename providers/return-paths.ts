import { timingSafeEqual } from 'node:crypto';
import { provenEmailId, returnPathOf } from '../domain/mail/return-path.ts';
import { derivedTokens, type Secrets } from './encryption.ts';

/** Makes and reads the envelope senders of messages. */
export interface ReturnPaths {
  /**
   * Returns the envelope sender of a message.
   * @param emailId of its row. Reports about a message without a row are ignored.
   * @param senderDomain domain of its `From` address
   */
  pathOf(emailId: string, senderDomain: string): string;
  /** The same at a host that takes reports. */
  pathAt(emailId: string, host: string): string;
  /** Returns the id of the message that a return path was made for; null: it is none of ours. */
  emailIdOf(address: string): string | null;
}

/**
 * @param secrets paths made with a former secret are still valid
 * @param domain RETURN_PATH_DOMAIN; null: reports go to the sender domain, which nothing here reads
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
