import { createHash, generateKeyPairSync, randomBytes, sign } from 'node:crypto';

/** A simulated authenticator with one passkey (ES256), as in WebAuthn Level 2. */

const sha256 = (data: string | Buffer) => createHash('sha256').update(data).digest();

/** Encodes in CBOR (RFC 8949) the few kinds of values in attestations. */
function cbor(value: number | string | Buffer | Map<number | string, unknown>): Buffer {
  const head = (major: number, length: number) =>
    length < 24
      ? Buffer.from([(major << 5) | length])
      : length < 256
        ? Buffer.from([(major << 5) | 24, length])
        : Buffer.from([(major << 5) | 25, length >> 8, length & 255]);
  if (typeof value === 'number') return value >= 0 ? head(0, value) : head(1, -1 - value);
  if (typeof value === 'string') return Buffer.concat([head(3, value.length), Buffer.from(value)]);
  if (Buffer.isBuffer(value)) return Buffer.concat([head(2, value.length), value]);
  const parts = [...value].flatMap(([key, item]) => [cbor(key), cbor(item as Buffer)]);
  return Buffer.concat([head(5, value.size), ...parts]);
}

interface Faults {
  origin?: string;
  rpId?: string;
  challenge?: string;
  counter?: number;
  isVerified?: boolean;
}

export function makePasskey(origin: string, rpId: string) {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const { x = '', y = '' } = publicKey.export({ format: 'jwk' });
  const id = randomBytes(16);
  const cose = cbor(
    new Map<number, unknown>([
      [1, 2],
      [3, -7],
      [-1, 1],
      [-2, Buffer.from(x, 'base64url')],
      [-3, Buffer.from(y, 'base64url')],
    ]),
  );
  let uses = 0;

  const clientData = (type: string, challenge: string, faults: Faults) =>
    Buffer.from(
      JSON.stringify({
        type,
        challenge: faults.challenge ?? challenge,
        origin: faults.origin ?? origin,
        crossOrigin: false,
      }),
    );
  const authenticatorData = (flags: number, faults: Faults, more = Buffer.alloc(0)) => {
    const counter = Buffer.alloc(4);
    counter.writeUInt32BE(faults.counter ?? uses);
    const verified = faults.isVerified === false ? 0 : 4;
    const head = Buffer.from([1 | verified | flags]);
    return Buffer.concat([sha256(faults.rpId ?? rpId), head, counter, more]);
  };
  const named = { id: id.toString('base64url'), rawId: id.toString('base64url') };
  const common = { ...named, type: 'public-key', clientExtensionResults: {} };

  return {
    /** Returns the response to `navigator.credentials.create`. */
    create({ challenge }: { challenge: string }, faults: Faults = {}) {
      uses += 1;
      const length = Buffer.from([0, id.length]);
      const attested = Buffer.concat([Buffer.alloc(16), length, id, cose]);
      const attestationObject = cbor(
        new Map<string, unknown>([
          ['fmt', 'none'],
          ['attStmt', new Map()],
          ['authData', authenticatorData(0x40, faults, attested)],
        ]),
      );
      return {
        ...common,
        response: {
          clientDataJSON: clientData('webauthn.create', challenge, faults).toString('base64url'),
          attestationObject: attestationObject.toString('base64url'),
          transports: ['internal'],
        },
      };
    },
    /** Returns the response to `navigator.credentials.get`. */
    get({ challenge }: { challenge: string }, faults: Faults = {}) {
      uses += 1;
      const client = clientData('webauthn.get', challenge, faults);
      const data = authenticatorData(0, faults);
      const signature = sign('sha256', Buffer.concat([data, sha256(client)]), privateKey);
      return {
        ...common,
        response: {
          clientDataJSON: client.toString('base64url'),
          authenticatorData: data.toString('base64url'),
          signature: signature.toString('base64url'),
        },
      };
    },
  };
}
