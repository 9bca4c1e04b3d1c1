import { randomUUID } from 'node:crypto';
import { CreateBucketCommand, HeadObjectCommand, S3Client } from '@aws-sdk/client-s3';
import { beforeAll, describe, expect, it } from 'vitest';
import { createFiles, type Files } from '../../providers/files.ts';
import { useMoto } from '../support/fakes/moto.ts';

/** Our storage against a third-party S3. It needs Python. */

const bucket = 'everpost-files';
const moto = await useMoto();
let publicUrl: string;
let client: S3Client;
let files: Files;

beforeAll(async () => {
  if (!moto) return;
  const { endpoint } = moto;
  publicUrl = `${endpoint}/${bucket}`;
  const credentials = { accessKeyId: 'key', secretAccessKey: 'secret' };
  client = new S3Client({ endpoint, region: 'eu-west-1', forcePathStyle: true, credentials });
  await client.send(
    new CreateBucketCommand({
      Bucket: bucket,
      CreateBucketConfiguration: { LocationConstraint: 'eu-west-1' },
    }),
  );
  const s3 = {
    endpoint,
    region: 'eu-west-1',
    bucket,
    accessKeyId: 'key',
    accessKeySecret: 'secret',
    publicUrl,
    forcePathStyle: true,
  };
  const made = createFiles({ driver: 's3', s3 }, 'http://api.test');
  if (!made) throw new Error('no storage');
  files = made;
}, 300_000);

describe.runIf(moto)('files in S3 (left out without Python)', () => {
  it('are found at their public address, with type and lifetime', async () => {
    const key = `${randomUUID()}/${randomUUID()}.png`;
    const bytes = Buffer.from('the bytes of an image');
    await files.put(key, { bytes, contentType: 'image/png' });
    expect(files.urlOf(key)).toBe(`${publicUrl}/${key}`);
    const head = await client.send(new HeadObjectCommand({ Bucket: bucket, Key: key }));
    expect(head).toMatchObject({
      ContentType: 'image/png',
      ContentLength: bytes.length,
      CacheControl: 'public, max-age=31536000, immutable',
      ContentDisposition: 'inline',
    });
    expect(await files.read(key)).toBeNull();
  });

  it('go with their folder, more than one page of them, and no others', async () => {
    const [mine, other] = [randomUUID(), randomUUID()];
    const file = { bytes: Buffer.from('x'), contentType: 'image/png' };
    const keys = Array.from({ length: 1_005 }, () => `${mine}/${randomUUID()}.png`);
    for (let at = 0; at < keys.length; at += 50) {
      await Promise.all(keys.slice(at, at + 50).map((key) => files.put(key, file)));
    }
    const kept = `${other}/${randomUUID()}.png`;
    await files.put(kept, file);
    await files.removeFolder(mine);
    await files.removeFolder(mine);
    const has = (Key: string) =>
      client.send(new HeadObjectCommand({ Bucket: bucket, Key })).then(
        () => true,
        () => false,
      );
    expect(await has(kept)).toBe(true);
    expect(await Promise.all([keys[0], keys.at(-1)].map((key) => has(key ?? '')))).toEqual([
      false,
      false,
    ]);
  }, 120_000);
});
