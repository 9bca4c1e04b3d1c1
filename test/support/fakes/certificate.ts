import {
  createPublicKey,
  generateKeyPairSync,
  type KeyObject,
  randomBytes,
  sign,
} from 'node:crypto';

/** Encodes one ASN.1 value in DER. */
function der(tag: number, ...contents: Buffer[]): Buffer {
  const content = Buffer.concat(contents);
  const size = content.length;
  const length =
    size < 0x80 ? [size] : size < 0x100 ? [0x81, size] : [0x82, size >> 8, size & 0xff];
  return Buffer.concat([Buffer.from([tag, ...length]), content]);
}

const sequence = (...items: Buffer[]) => der(0x30, ...items);
const hex = (text: string) => Buffer.from(text, 'hex');
/** sha256WithRSAEncryption, without parameters. */
const algorithm = sequence(der(0x06, hex('2a864886f70d01010b')), der(0x05));
const oid = (text: string) => der(0x06, hex(text));
const commonName = (name: string) =>
  sequence(der(0x31, sequence(oid('550403'), der(0x0c, Buffer.from(name)))));
/** Encodes a date as GeneralizedTime. */
const time = (date: Date) =>
  der(0x18, Buffer.from(`${date.toISOString().replaceAll(/\D/g, '').slice(0, 14)}Z`));
const extension = (id: string, value: Buffer) => sequence(oid(id), der(0x04, value));

export interface Certificate {
  pem: string;
  /** The certificate in DER, without the PEM text. */
  der: Buffer;
  name: string;
  privateKey: KeyObject;
}

export interface CertificateOptions {
  /** The issuer; absent: the certificate is self-signed. */
  issuer?: Certificate;
  /** Host names for which the certificate is valid. */
  hosts?: string[];
  /** True if the certificate may issue others. */
  isAuthority?: boolean;
  /** The address of the issuer's certificate. */
  issuerUrl?: string;
  validFrom?: Date;
  validTo?: Date;
  /** The certificate whose key is used; absent: a new key is created. */
  keyOf?: Certificate;
}

/** Creates a certificate with an RSA key (X.509, RFC 5280). */
export function createCertificate(name: string, options: CertificateOptions = {}): Certificate {
  const privateKey =
    options.keyOf?.privateKey ?? generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey;
  const { issuer, hosts = [], isAuthority = false, issuerUrl } = options;
  const extensions = [
    // basicConstraints
    extension('551d13', isAuthority ? sequence(der(0x01, hex('ff'))) : sequence()),
    // subjectAltName
    ...(hosts.length > 0
      ? [extension('551d11', sequence(...hosts.map((host) => der(0x82, Buffer.from(host)))))]
      : []),
    // authorityInfoAccess with caIssuers
    ...(issuerUrl
      ? [
          extension(
            '2b06010505070101',
            sequence(sequence(oid('2b06010505073002'), der(0x86, Buffer.from(issuerUrl)))),
          ),
        ]
      : []),
  ];
  const toBeSigned = sequence(
    der(0xa0, der(0x02, hex('02'))),
    der(0x02, Buffer.concat([hex('01'), randomBytes(8)])),
    algorithm,
    commonName(issuer?.name ?? name),
    sequence(
      time(options.validFrom ?? new Date('2020-01-01')),
      time(options.validTo ?? new Date('2049-01-01')),
    ),
    commonName(name),
    createPublicKey(privateKey).export({ type: 'spki', format: 'der' }),
    der(0xa3, sequence(...extensions)),
  );
  const signer = issuer?.privateKey ?? privateKey;
  const signature = der(0x03, hex('00'), sign('sha256', toBeSigned, signer));
  const bytes = sequence(toBeSigned, algorithm, signature);
  const lines = bytes.toString('base64').replaceAll(/.{64}(?=.)/g, '$&\n');
  const pem = `-----BEGIN CERTIFICATE-----\n${lines}\n-----END CERTIFICATE-----\n`;
  return { pem, der: bytes, name, privateKey };
}
