/** The fields of a header block: the values of each name, in order. Names are in lower case. */
export type Fields = ReadonlyMap<string, readonly string[]>;

/**
 * Reads the first header block in a text (RFC 5322, 2.2). A line that begins with a blank continues
 * the line before it; other lines without a colon are skipped.
 */
export function readFields(text: string): Fields {
  const block = text.trimStart();
  const end = block.search(/\n[ \t]*\r?\n/);
  return fieldsOf(end < 0 ? block : block.slice(0, end));
}

/**
 * Reads all header blocks in a text, which empty lines separate, as in a delivery status (RFC 3464,
 * 2.1).
 */
export function readFieldGroups(text: string): Fields[] {
  const blocks = text.split(/\n(?:[ \t]*\r?\n)+/);
  return blocks.filter((block) => block.trim() !== '').map(fieldsOf);
}

/**
 * Returns the first value of a field.
 * @param name in lower case
 */
export function fieldOf(fields: Fields, name: string): string | undefined {
  return fields.get(name)?.[0];
}

function fieldsOf(block: string): Fields {
  const fields = new Map<string, string[]>();
  for (const line of block.replaceAll(/\r?\n[ \t]+/g, ' ').split(/\r?\n/)) {
    const colon = line.indexOf(':');
    if (colon <= 0) continue;
    const name = line.slice(0, colon).trim().toLowerCase();
    const values = fields.get(name) ?? [];
    fields.set(name, values);
    values.push(line.slice(colon + 1).trim());
  }
  return fields;
}
