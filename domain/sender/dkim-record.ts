/** DKIM keys in DNS: names, texts, and the comparison with a published text. */

export type DkimAlgorithm = 'rsa' | 'ed25519';

/** The public half of a DKIM key. */
export interface DkimPublicKey {
  /** Label of the RSA key in DNS. The Ed25519 key with the same selector has another label. */
  selector: string;
  algorithm: DkimAlgorithm;
  /**
   * The key in base64, as in the tag `p`: a SubjectPublicKeyInfo for RSA, the 32 bytes of the key
   * for Ed25519 (RFC 8463).
   */
  publicKey: string;
}

/**
 * Returns a new selector: the current month and 8 random hex digits, so that no selector is used
 * twice.
 */
export function selectorFor(now: Date, random: string): string {
  return `ep${now.toISOString().slice(0, 7).replace('-', '')}-${random}`;
}

/** Returns the label of a key in DNS. */
export function dkimLabel({ selector, algorithm }: Omit<DkimPublicKey, 'publicKey'>): string {
  return algorithm === 'rsa' ? selector : `${selector}-e`;
}

export function dkimText({ algorithm, publicKey }: Omit<DkimPublicKey, 'selector'>): string {
  return `v=DKIM1; k=${algorithm}; p=${publicKey}`;
}

/** Returns true if a TXT record is a DKIM key: it has the tag `p`. */
export function isDkimKey(text: string): boolean {
  return readTags(text).some(([name]) => name === 'p');
}

/**
 * Returns true if a published key has the same effect as the required one (RFC 6376, 3.6.1): the
 * same key, for mail, with SHA-256. The order of tags, additional tags and blanks do not matter.
 */
export function isSameDkimKey(wanted: string, found: string): boolean {
  const tags = readTags(found);
  const values = new Map(tags);
  // A tag list with the same tag twice is invalid (RFC 6376, 3.2).
  if (values.size < tags.length) return false;
  const right = new Map(readTags(wanted));
  const allows = (name: string, accepted: readonly string[]) => {
    const listed = values.get(name);
    return listed === undefined || listed.split(':').some((one) => accepted.includes(one));
  };
  return (
    values.get('p') === right.get('p') &&
    (values.get('v') ?? 'DKIM1') === 'DKIM1' &&
    (values.get('k') ?? 'rsa') === right.get('k') &&
    allows('h', ['sha256']) &&
    allows('s', ['email', '*'])
  );
}

/**
 * Reads a tag list (RFC 6376, 3.2). Blanks in values are removed, because no value of a DKIM key
 * has any.
 */
function readTags(text: string): [name: string, value: string][] {
  return text.split(';').flatMap((tag): [string, string][] => {
    const at = tag.indexOf('=');
    if (at < 0) return [];
    return [[tag.slice(0, at).trim(), tag.slice(at + 1).replace(/\s+/g, '')]];
  });
}
