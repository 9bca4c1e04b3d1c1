import { readTemplate } from '../template/source.ts';
import { mapStrings } from '../template/liquid-context.ts';

/**
 * Project secrets in webhook templates: `{{secret.NAME}}`. Before rendering, a random marker
 * replaces each secret, so neither the renderer nor stored data contain secrets. Contact data
 * cannot insert a secret, because the marker is unguessable.
 */

/** The text shown in place of a secret. */
export const hidden = '•••';

export const secretName = /^[A-Z][A-Z0-9_]{0,63}$/;

/** Returns the text with a marker for each secret, and the names of the secrets. */
export function markSecrets(source: string, mark: string): { text: string; names: string[] } {
  const names: string[] = [];
  let text = '';
  for (const { written, path } of readTemplate(source)) {
    const [root, name] = path ?? [];
    if (root !== 'secret' || name === undefined || path?.length !== 2) {
      text += written;
      continue;
    }
    names.push(name);
    text += markOf(name, mark);
  }
  return { text, names };
}

function markOf(name: string, mark: string): string {
  return `${mark}${name}${mark}`;
}

export function revealed(text: string, mark: string, valueOf: (name: string) => string): string {
  // Markers stand on both sides of each name, so every second piece is a name.
  return text
    .split(mark)
    .map((piece, index) => (index % 2 === 1 ? valueOf(piece) : piece))
    .join('');
}

/**
 * Masks secrets in a receiver's response. A secret is also found in other encodings: as JSON, in a
 * URL, in HTML, or in lower case, as in host names.
 */
export class SecretMask {
  readonly #forms: string[];

  constructor(secrets: Iterable<string>) {
    const forms = [...secrets].flatMap(formsOf).filter((form) => form !== '');
    // One secret may be part of another, so the longest is replaced first.
    this.#forms = [...new Set(forms)].toSorted((a, b) => b.length - a.length);
  }

  /**
   * Masks all secrets in a text.
   * @param isCut true if the text may end in the middle of a secret
   */
  text(text: string, isCut = false): string {
    let masked = text;
    for (const form of this.#forms) masked = masked.replaceAll(form, hidden);
    return isCut ? this.#withoutBeginning(masked) : masked;
  }

  /** Masks every text in a JSON value, including keys. */
  value(value: unknown): unknown {
    return this.#forms.length === 0 ? value : mapStrings(value, (text) => this.text(text));
  }

  #withoutBeginning(text: string): string {
    for (const form of this.#forms) {
      for (let length = Math.min(form.length - 1, text.length); length > 0; length -= 1) {
        if (text.endsWith(form.slice(0, length))) return text.slice(0, -length) + hidden;
      }
    }
    return text;
  }
}

function formsOf(secret: string): string[] {
  const inJson = JSON.stringify(secret).slice(1, -1);
  const inUrl = encodeURIComponent(secret);
  const path = new URL(`http://x/${secret.replaceAll(/[?#]/g, encodeURIComponent)}`).pathname;
  const inHtml = secret
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;');
  return [
    secret,
    secret.trim(),
    secret.toLowerCase(),
    inJson,
    inJson.replaceAll('/', '\\/'),
    inUrl,
    inUrl.replaceAll('%20', '+'),
    path.slice(1),
    inHtml,
  ];
}

/** Headers whose values are credentials, in lower case. */
const credentialHeaders: ReadonlySet<string> = new Set(['authorization', 'cookie', 'x-api-key']);

type Config = Record<string, unknown>;

/**
 * Returns a step's config for display, with the values of credential headers masked.
 * @param mask returns what is shown in place of such a value
 */
export function shownConfig(
  config: Config,
  mask: (value: unknown) => unknown = () => hidden,
): Config {
  return withHeaders(config, (name, value) => (isCredential(name) ? mask(value) : value));
}

/**
 * Returns the config of a WEBHOOK step for storage. A masked value is replaced by the stored one;
 * `missing` has the headers for which no value is stored.
 */
export function keptConfig(given: Config, stored: Config): { config: Config; missing: string[] } {
  const before = new Map(
    Object.entries(headersOf(stored) ?? {}).map(([name, value]) => [name.toLowerCase(), value]),
  );
  const missing: string[] = [];
  const config = withHeaders(given, (name, value) => {
    if (value !== hidden || !isCredential(name)) return value;
    const kept = before.get(name.toLowerCase());
    if (kept === undefined) missing.push(name);
    return kept ?? value;
  });
  return { config, missing };
}

/** Returns the config of a WEBHOOK step without masked values, for a check that stores nothing. */
export function withoutMasked(config: Config): Config {
  return withHeaders(config, (name, value) =>
    value === hidden && isCredential(name) ? '' : value,
  );
}

function isCredential(name: string): boolean {
  return credentialHeaders.has(name.toLowerCase());
}

function headersOf(config: Config): Record<string, unknown> | null {
  const { headers } = config;
  return typeof headers === 'object' && headers !== null ? (headers as Config) : null;
}

function withHeaders(config: Config, change: (name: string, value: unknown) => unknown): Config {
  const headers = headersOf(config);
  if (!headers) return config;
  const changed = Object.entries(headers).map(([name, value]) => [name, change(name, value)]);
  return { ...config, headers: Object.fromEntries(changed) };
}
