import { mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import {
  DeleteObjectsCommand,
  ListObjectsV2Command,
  PutObjectCommand,
  S3Client,
} from '@aws-sdk/client-s3';

/** Where uploaded files lie. A key is `<folder>/<name>`, made by us, never by a client. */
export interface Files {
  put(key: string, file: { bytes: Buffer; contentType: string }): Promise<void>;
  /** The content, or null when there is none here: another storage serves its files itself. */
  read(key: string): Promise<Buffer | null>;
  /** Where everybody can get the file, for ever. */
  urlOf(key: string): string;
  /** Deletes a folder with all its files; one that does not exist is no error. */
  removeFolder(folder: string): Promise<void>;
}

export interface S3Settings {
  /** null: Amazon's own for the region. */
  endpoint: string | null;
  region: string;
  bucket: string;
  accessKeyId: string;
  accessKeySecret: string;
  /** The bucket as the outside sees it, without a slash at the end. */
  publicUrl: string;
  forcePathStyle: boolean;
}

export type StorageSettings =
  | { driver: 's3'; s3: S3Settings }
  | { driver: 'local'; dir: string }
  | { driver: 'none' };

/** The storage the settings ask for; null: none. `apiUrl`: where local files are served. */
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

/** What may be part of a path: nothing that leads anywhere but down one level. */
const safePart = /^[A-Za-z0-9_-]+(\.[A-Za-z0-9]+)?$/;

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
      if (!file) throw new Error(`Not a key: ${key}`);
      await mkdir(path.dirname(file), { recursive: true });
      // Renamed when complete: nobody is served half a file.
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
    async removeFolder(folder) {
      if (!safePart.test(folder)) throw new Error(`Not a folder: ${folder}`);
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
    // Other servers than Amazon's do not know the checksums the SDK adds by itself.
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
        if (Errors.length > 0) throw new Error(`Files not deleted: ${Errors[0]?.Code}`);
      }
    },
  };
}
