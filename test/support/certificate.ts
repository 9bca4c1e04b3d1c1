import { generateKeyPairSync, type KeyObject, sign } from 'node:crypto';

/** One ASN.1 value in DER. */
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
const commonName = (name: string) =>
  sequence(der(0x31, sequence(der(0x06, hex('550403')), der(0x0c, Buffer.from(name)))));
const time = (text: string) => der(0x17, Buffer.from(text));

/** A new RSA key with a certificate of its own, as PEM (X.509, RFC 5280). */
export function createCertificate(name: string): { pem: string; privateKey: KeyObject } {
  const { publicKey, privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  const toBeSigned = sequence(
    der(0xa0, der(0x02, hex('02'))),
    der(0x02, hex('01')),
    algorithm,
    commonName(name),
    sequence(time('200101000000Z'), time('490101000000Z')),
    commonName(name),
    publicKey.export({ type: 'spki', format: 'der' }),
  );
  const signature = der(0x03, hex('00'), sign('sha256', toBeSigned, privateKey));
  const lines = sequence(toBeSigned, algorithm, signature)
    .toString('base64')
    .replaceAll(/.{64}/g, '$&\n');
  const pem = `-----BEGIN CERTIFICATE-----\n${lines}\n-----END CERTIFICATE-----\n`;
  return { pem, privateKey };
}
