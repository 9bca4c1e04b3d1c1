import { type KeyObject, X509Certificate } from 'node:crypto';
import type { FetchBytes } from '../../web/bounded-fetch.ts';

export interface CertificateStore {
  /**
   * Returns the key of a certificate that is issued to SNS, trusted and valid now; otherwise null.
   * @throws Error when the certificate, or one of its chain, cannot be fetched.
   */
  findKey(url: URL): Promise<KeyObject | null>;
}

/** A certificate has 2 KB; a file may also contain its chain. */
const fileBytesMax = 64 * 1024;
/** How long a valid result is cached, in ms; a certificate may expire earlier. */
const verdictMs = 24 * 3_600_000;
/** A refusal is cached briefly, because a certificate may become valid or be fixed. */
const refusalMs = 60_000;
/** Maximum number of cached results. SNS has one certificate for each region at a time. */
const verdictsMax = 100;
/** Maximum number of concurrent fetches, so that made-up URLs do not block real ones for long. */
const fetchesMax = 10;
/** Longest chain from the certificate of SNS to an authority. Usually it has two or three. */
const chainMax = 5;

/**
 * Names in certificates of SNS, by region and partition: `sns.amazonaws.com`,
 * `sns.<region>.amazonaws.com`, `sns-signing.<region>.amazonaws.com`, `sns-<region>.amazonaws.com.cn`
 * (as the AWS SDK for Java expects them).
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
   * Returns true if an authority certifies a certificate, through the chain in its file or through
   * issuers that are fetched.
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
   * Fetches the issuer of a certificate: the file of SNS has only its own certificate, with the URL
   * of the issuer's.
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
  // The list is text that the issuer controls, so the library checks each name against the
  // certificate.
  return names.some((name) => snsName.test(name) && certificate.checkHost(name) !== undefined);
}

const pemEnd = '-----END CERTIFICATE-----';

/**
 * Reads the certificates of a file, several in PEM or one in DER.
 * @throws Error when one cannot be read.
 */
function readCertificates(file: Buffer): X509Certificate[] {
  const blocks = file.toString('latin1').split(pemEnd).slice(0, -1);
  if (blocks.length === 0) return [new X509Certificate(file)];
  return blocks.map((block) => new X509Certificate(block + pemEnd));
}
