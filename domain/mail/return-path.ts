/**
 * The return path of a message: the address to which mail servers send reports about it. The
 * address contains the message's id and a proof, so that only servers that got the message can
 * report on it.
 */

/** Returns the proof for the id of a message: lower-case hexadecimal digits. */
export type ProofOf = (emailId: string) => string;

/** Number of hex digits of the proof: 80 bits, too many to be guessed over a network. */
const proofDigits = 20;
/**
 * The part of the address before `+`. A mail server that supports subaddresses (RFC 5233) delivers
 * all reports to this mailbox.
 */
const mailbox = 'bounce';

const written = /^bounce\+([0-9a-f]{32})\.([0-9a-f]{20})@/;

/**
 * Returns the return path of a message. Its local part has 60 characters of the allowed 64 (RFC
 * 5321, 4.5.3.1.1), all in lower case, because servers may change the case.
 */
export function returnPathOf(emailId: string, host: string, proofOf: ProofOf): string {
  const proof = proofOf(emailId).slice(0, proofDigits);
  return `${mailbox}+${emailId.replaceAll('-', '')}.${proof}@${host}`;
}

/**
 * Returns the id of the message to which a return path belongs; null: the address is no return
 * path, or its proof is wrong.
 * @param address in any case, also in angle brackets
 * @param isProof returns true if a proof is right; the comparison takes constant time
 */
export function provenEmailId(
  address: string,
  isProof: (emailId: string, proof: string) => boolean,
): string | null {
  const plain = address.trim().replace(/^<(.*)>$/, '$1');
  const [, digits = '', proof = ''] = written.exec(plain.toLowerCase()) ?? [];
  if (digits === '') return null;
  const emailId = digits.replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');
  return isProof(emailId, proof) ? emailId : null;
}
