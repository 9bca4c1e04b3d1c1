import { mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import {
  DeleteObjectCommand,
  DeleteObjectsCommand,
  ListObjectsV2Command,
  PutObjectCommand,
  S3Client,
} from '@aws-sdk/client-s3';

/**
 * The storage for uploaded files. A key is `<folder>/<name>`. The server generates all keys;
 * clients cannot choose keys.
 */
export interface Files {
  put(key: string, file: { bytes: Buffer; contentType: string }): Promise<void>;
  /** Returns the content of a file; null when the files are not served by this server. */
  read(key: string): Promise<Buffer | null>;
  /** Returns the permanent public URL of the file. */
  urlOf(key: string): string;
  /** Deletes a file. A missing file is no error. */
  remove(key: string): Promise<void>;
  /** Deletes a folder with all its files. A missing folder is no error. */
  removeFolder(folder: string): Promise<void>;
}

export interface S3Settings {
  /** null: Amazon's own endpoint for the region. */
  endpoint: string | null;
  region: string;
  bucket: string;
  accessKeyId: string;
  accessKeySecret: string;
  /** The public address of the bucket, without a trailing slash. */
  publicUrl: string;
  forcePathStyle: boolean;
}

export type StorageSettings =
  | { driver: 's3'; s3: S3Settings }
  | { driver: 'local'; dir: string }
  | { driver: 'none' };

/**
 * Creates the configured storage; null: uploads are off.
 * @param apiUrl the base URL at which local files are served
 */
export function createFiles(settings: StorageSettings, apiUrl: string): Files | null {
  switch (settings.driver) {
    case 's3':
      return s3Files(settings.s3);
    case 'local':
      return localFiles(path.resolve(settings.dir), apiUrl);
    case 'none':
      return null;
  }
}

/** Matches the name of a single file or folder, and never `..` or a path. */
const safePart = /^[A-Za-z0-9_-]+(\.[A-Za-z0-9]+)?$/;

const notAKey = (key: string) => new Error(`A key must be <folder>/<file>: "${key}"`);

function localFiles(dir: string, apiUrl: string): Files {
  const pathOf = (key: string) => {
    const parts = key.split('/');
    return parts.length === 2 && parts.every((part) => safePart.test(part))
      ? path.join(dir, ...parts)
      : null;
  };
  return {
    async put(key, { bytes }) {
      const file = pathOf(key);
      if (!file) throw notAKey(key);
      await mkdir(path.dirname(file), { recursive: true });
      // The file gets its name when it is complete, so that no incomplete file is served.
      await writeFile(`${file}.part`, bytes);
      await rename(`${file}.part`, file);
    },
    async read(key) {
      const file = pathOf(key);
      if (!file) return null;
      return readFile(file).catch((error: NodeJS.ErrnoException) => {
        if (['ENOENT', 'ENOTDIR', 'ENAMETOOLONG'].includes(error.code ?? '')) return null;
        throw error;
      });
    },
    urlOf: (key) => `${apiUrl}/uploads/files/${key}`,
    async remove(key) {
      const file = pathOf(key);
      if (!file) throw notAKey(key);
      await Promise.all([file, `${file}.part`].map((name) => rm(name, { force: true })));
    },
    async removeFolder(folder) {
      if (!safePart.test(folder)) throw new Error(`A folder must be one safe name: "${folder}"`);
      await rm(path.join(dir, folder), { recursive: true, force: true });
    },
  };
}

function s3Files(settings: S3Settings): Files {
  const { bucket: Bucket, publicUrl } = settings;
  const client = new S3Client({
    region: settings.region,
    ...(settings.endpoint ? { endpoint: settings.endpoint } : {}),
    forcePathStyle: settings.forcePathStyle,
    credentials: {
      accessKeyId: settings.accessKeyId,
      secretAccessKey: settings.accessKeySecret,
    },
    // Servers other than Amazon's do not support the checksums that the SDK adds by default.
    requestChecksumCalculation: 'WHEN_REQUIRED',
    responseChecksumValidation: 'WHEN_REQUIRED',
    requestHandler: {
      connectionTimeout: 5_000,
      requestTimeout: 30_000,
      throwOnRequestTimeout: true,
    },
  });
  return {
    async put(Key, { bytes, contentType }) {
      await client.send(
        new PutObjectCommand({
          Bucket,
          Key,
          Body: bytes,
          ContentType: contentType,
          ContentDisposition: 'inline',
          CacheControl: 'public, max-age=31536000, immutable',
        }),
      );
    },
    read: async () => null,
    urlOf: (key) => `${publicUrl}/${key}`,
    async remove(Key) {
      await client.send(new DeleteObjectCommand({ Bucket, Key }));
    },
    async removeFolder(folder) {
      for (;;) {
        const { Contents = [] } = await client.send(
          new ListObjectsV2Command({ Bucket, Prefix: `${folder}/` }),
        );
        const Objects = Contents.flatMap(({ Key }) => (Key === undefined ? [] : [{ Key }]));
        if (Objects.length === 0) return;
        const { Errors = [] } = await client.send(
          new DeleteObjectsCommand({ Bucket, Delete: { Objects, Quiet: true } }),
        );
        if (Errors.length > 0) {
          throw new Error(`The storage did not delete files of ${folder}: ${Errors[0]?.Code}`);
        }
      }
    },
  };
}
