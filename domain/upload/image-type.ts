/** The types of images that may be uploaded. SVG is not allowed, because it can contain scripts. */
export const imageTypes = {
  'image/jpeg': 'jpg',
  'image/png': 'png',
  'image/gif': 'gif',
  'image/webp': 'webp',
} as const;

export type ImageType = keyof typeof imageTypes;

export function isImageType(type: string): type is ImageType {
  return Object.hasOwn(imageTypes, type);
}

/** Returns the type of a stored file from its extension; null: not supported. */
export function imageTypeOfName(name: string): ImageType | null {
  const extension = name.split('.').at(-1);
  const types = Object.keys(imageTypes) as ImageType[];
  return types.find((type) => imageTypes[type] === extension) ?? null;
}

/**
 * Returns the type of a file from its first bytes; its name does not matter. null: not supported.
 */
export function imageTypeOf(bytes: Uint8Array): ImageType | null {
  const startsWith = (offset: number, signature: readonly number[]) =>
    signature.every((byte, index) => bytes[offset + index] === byte);
  if (startsWith(0, [0xff, 0xd8, 0xff])) return 'image/jpeg';
  if (startsWith(0, [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a])) return 'image/png';
  if (startsWith(0, ascii('GIF87a')) || startsWith(0, ascii('GIF89a'))) {
    return 'image/gif';
  }
  if (startsWith(0, ascii('RIFF')) && startsWith(8, ascii('WEBP'))) return 'image/webp';
  return null;
}

function ascii(text: string): number[] {
  return Array.from(text, (char) => char.charCodeAt(0));
}
