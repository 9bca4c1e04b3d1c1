import { z } from 'zod';
import type { Config } from '../../config.ts';
import type { UploadRow } from '../../db/projects/uploads.ts';
import { imageTypes, imageTypeOfName } from '../../domain/upload/image-type.ts';
import type { Files } from '../../providers/files.ts';
import { Actor } from '../actors/actor.ts';
import { exampleOf, present } from '../http/record.ts';
import { named, Time } from '../http/schemas.ts';

const key = '0e9b6f0c-52a8-4b5c-8a51-0f3f6b9d2c01/4b1f0a77-8d0a-4e3c-9a31-5b6c7d8e9fa2.png';

export const StoredFile = named('StoredFile', {
  key: z.string().meta({ examples: [key] }),
  url: z.string().meta({ examples: [`https://files.shop.example/${key}`] }),
  contentType: z.enum(Object.keys(imageTypes) as [keyof typeof imageTypes]).meta({
    examples: ['image/png'],
  }),
  size: z
    .int()
    .describe('Bytes')
    .meta({ examples: [20_480] }),
  createdAt: Time,
  createdBy: Actor.nullable().describe('Who uploaded it'),
});

export const storedFileExample = exampleOf(StoredFile);

/** Returns the record of a file. */
export function presentFile(
  row: UploadRow,
  files: Files,
  actorOf: (stored: string | null) => z.input<typeof Actor> | null,
): z.input<typeof StoredFile> {
  return present(StoredFile, row, {
    url: files.urlOf(row.key),
    contentType: imageTypeOfName(row.key) ?? 'image/png',
    size: row.bytes,
    createdBy: actorOf(row.created_by),
  });
}

/** Returns the error for uploads if the server has no storage; null: the server has storage. */
export function uploadsOff({ storage }: Config): 'UPLOADS_DISABLED' | null {
  return storage.driver === 'none' ? 'UPLOADS_DISABLED' : null;
}
