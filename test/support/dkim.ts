import { dkimVerify } from 'mailauth/lib/dkim/verify.js';

/** The result for one signature, from a verifier outside this project. */
export interface VerifiedSignature {
  domain: string;
  selector: string;
  /** The algorithm, such as `rsa-sha256`. */
  algorithm: string;
  /** `pass`, `fail`, `neutral`, … (RFC 8601, 2.7.1). */
  result: string;
}

/**
 * Verifies the signatures of a message; an empty list: it has none. `zone`: the TXT records, by
 * name.
 */
export async function verifyDkim(
  raw: Buffer,
  zone: Readonly<Record<string, string>>,
): Promise<VerifiedSignature[]> {
  const { results } = await dkimVerify(raw, {
    resolver: async (name: string) => {
      const text = zone[name];
      if (text !== undefined) return [[text]];
      throw Object.assign(new Error(`No such name: ${name}`), { code: 'ENOTFOUND' });
    },
  });
  // The types of the library lack `algo`.
  return (results as ((typeof results)[number] & { algo: string })[])
    .filter(({ status }) => status.result !== 'none')
    .map((one) => ({
      domain: one.signingDomain,
      selector: one.selector ?? '',
      algorithm: one.algo,
      result: one.status.result,
    }));
}

/** Returns the tags of the first signature, by name, without blanks. */
export function signatureTags(raw: Buffer): Record<string, string> {
  const [, value = ''] = /^DKIM-Signature:((?:.*\r\n[ \t])*.*)\r\n/m.exec(raw.toString()) ?? [];
  return Object.fromEntries(
    value
      .replace(/\s/g, '')
      .split(';')
      .map((tag) => [tag.slice(0, tag.indexOf('=')), tag.slice(tag.indexOf('=') + 1)]),
  );
}
