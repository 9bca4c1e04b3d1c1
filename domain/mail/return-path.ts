/**
 * The return path of a message: the address to which other servers report what became of it. It
 * has the id of the message and a proof, so that only those who were given the message can report
 * about it.
 */

/** Returns the proof for the id of a message: lower-case hexadecimal digits. */
export type ProofOf = (emailId: string) => string;

/** Digits of the proof: 80 bits, which cannot be tried out over a network. */
const proofDigits = 20;
/**
 * The part before `+`. A mail server that supports subaddresses (RFC 5233) delivers all reports to
 * the mailbox of this name.
 */
const mailbox = 'bounce';

const written = /^bounce\+([0-9a-f]{32})\.([0-9a-f]{20})@/;

/**
 * Returns the return path of a message. Its local part has 60 characters; 64 are allowed (RFC 5321,
 * 4.5.3.1.1). Servers may change the case of letters, so there are only lower-case ones.
 */
export function returnPathOf(emailId: string, host: string, proofOf: ProofOf): string {
  const proof = proofOf(emailId).slice(0, proofDigits);
  return `${mailbox}+${emailId.replaceAll('-', '')}.${proof}@${host}`;
}

/**
 * Returns the id of the message that a return path belongs to; null: it is no return path, or its
 * proof is wrong.
 * @param address in any case, also in angle brackets
 * @param isProof compares a proof with the beginning of the right one, in constant time
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
