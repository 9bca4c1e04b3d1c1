import { type KeyObject, X509Certificate } from 'node:crypto';
import type { FetchBytes } from '../../web/bounded-fetch.ts';

export interface CertificateStore {
  /**
   * Returns the public key of a certificate that belongs to SNS, is trusted and currently valid;
   * null: the certificate does not meet these conditions.
   * @throws Error when the certificate, or another of its chain, cannot be fetched
   */
  findKey(url: URL): Promise<KeyObject | null>;
}

/**
 * Maximum number of bytes of a file. A certificate has 2 KB, and the file may contain its chain.
 */
const fileBytesMax = 64 * 1024;
/** Milliseconds for which a valid result is cached, unless the certificate expires earlier. */
const verdictMs = 24 * 3_600_000;
/**
 * Milliseconds for which a refusal is cached. The time is short, because a certificate may become
 * valid.
 */
const refusalMs = 60_000;
/** Maximum number of cached results. SNS has one certificate at a time in each region. */
const verdictsMax = 100;
/** Maximum number of parallel fetches, so that invented URLs do not block real URLs for long. */
const fetchesMax = 10;
/** Maximum length of the chain from SNS's certificate to an authority; two or three are usual. */
const chainMax = 5;

/**
 * Names in certificates of SNS: `sns.amazonaws.com`, `sns.<region>.amazonaws.com`,
 * `sns-signing.<region>.amazonaws.com`, `sns-<region>.amazonaws.com.cn` (the names that the AWS SDK
 * for Java expects).
 */
const snsName = /^sns(?:-signing)?(?:[.-][a-z0-9-]{1,32})?\.amazonaws\.com(?:\.cn)?$/;

export function createCertificateStore(services: {
  fetchBytes: FetchBytes;
  authorities: readonly string[];
  now: () => number;
}): CertificateStore {
  const { fetchBytes, authorities, now } = services;
  const verdicts = new Map<string, { key: Promise<KeyObject | null>; until: number }>();
  let fetching = 0;
  let parsed: X509Certificate[] | undefined;
  const trusted = () => (parsed ??= authorities.map((pem) => new X509Certificate(pem)));

  const isCurrent = ({ validFrom, validTo }: X509Certificate): boolean =>
    Date.parse(validFrom) <= now() && now() <= Date.parse(validTo);

  /**
   * Returns true if a trusted authority certifies a certificate, through the chain in its file or
   * through fetched issuers.
   */
  async function isTrusted(leaf: X509Certificate, file: X509Certificate[]): Promise<boolean> {
    let certificate = leaf;
    for (let length = 1; length < chainMax; length += 1) {
      if (trusted().some((root) => isCurrent(root) && hasIssued(root, certificate))) return true;
      const issuer =
        file.find((other) => hasIssued(other, certificate)) ?? (await fetchIssuer(certificate));
      if (!issuer || !issuer.ca || !isCurrent(issuer) || !hasIssued(issuer, certificate)) {
        return false;
      }
      certificate = issuer;
    }
    return false;
  }

  /**
   * Fetches the issuer of a certificate from the URL in it. The files of SNS contain only their own
   * certificate.
   */
  async function fetchIssuer(certificate: X509Certificate): Promise<X509Certificate | undefined> {
    const [address = ''] = certificate.toLegacyObject().infoAccess?.['CA Issuers - URI'] ?? [];
    const url = URL.parse(address);
    if (!url || !['http:', 'https:'].includes(url.protocol) || url.username || url.port) {
      return undefined;
    }
    return readCertificates(await fetchBytes(url, fileBytesMax))[0];
  }

  async function judge(url: URL): Promise<{ key: KeyObject | null; until: number }> {
    const [leaf, ...others] = readCertificates(await fetchBytes(url, fileBytesMax));
    const refusal = { key: null, until: now() + refusalMs };
    if (!leaf || !isCurrent(leaf) || !isOfSns(leaf)) return refusal;
    if (!(await isTrusted(leaf, others))) return refusal;
    return { key: leaf.publicKey, until: Math.min(now() + verdictMs, Date.parse(leaf.validTo)) };
  }

  return {
    findKey(url) {
      const known = verdicts.get(url.href);
      if (known && known.until > now()) return known.key;
      if (fetching >= fetchesMax) {
        return Promise.reject(new Error('Too many certificates are being fetched.'));
      }
      fetching += 1;
      const judged = judge(url).finally(() => (fetching -= 1));
      const verdict = { key: judged.then(({ key }) => key), until: now() + verdictMs };
      verdicts.delete(url.href);
      verdicts.set(url.href, verdict);
      const [oldest] = verdicts.keys();
      if (verdicts.size > verdictsMax && oldest !== undefined) verdicts.delete(oldest);
      judged.then(
        ({ until }) => (verdict.until = until),
        () => {
          if (verdicts.get(url.href) === verdict) verdicts.delete(url.href);
        },
      );
      return verdict.key;
    },
  };
}

function hasIssued(issuer: X509Certificate, certificate: X509Certificate): boolean {
  return certificate.checkIssued(issuer) && certificate.verify(issuer.publicKey);
}

function isOfSns(certificate: X509Certificate): boolean {
  const { CN: commonName = [] } = certificate.toLegacyObject().subject;
  const listed = certificate.subjectAltName?.split(', ').map((name) => name.replace(/^DNS:/, ''));
  const names = listed ?? [commonName].flat();
  // The issuer controls the text of this list, so the library checks each name against the
  // certificate.
  return names.some((name) => snsName.test(name) && certificate.checkHost(name) !== undefined);
}

const pemEnd = '-----END CERTIFICATE-----';

/**
 * Reads the certificates in a file: several in PEM, or one in DER.
 * @throws Error when a certificate cannot be read
 */
function readCertificates(file: Buffer): X509Certificate[] {
  const blocks = file.toString('latin1').split(pemEnd).slice(0, -1);
  if (blocks.length === 0) return [new X509Certificate(file)];
  return blocks.map((block) => new X509Certificate(block + pemEnd));
}
