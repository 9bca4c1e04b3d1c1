/**
 * Patterns of data that must not be logged, with their replacements. A reader of the log could use
 * such data to opt contacts out, to follow links in their name, or to use a key.
 */
const masks: readonly (readonly [RegExp, string])[] = [
  // Ids in opt-out and confirmation links, both in pages and in the API for customers' own pages.
  [/\/(unsubscribe|subscribe|manage|confirm|contacts\/public)\/[^/?#\s"\\{]+/gi, '/$1/…'],
  // A contact's id is the secret part of its opt-out links, so it is masked in all other paths,
  // too.
  [/\/(contacts?|recipients)\/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f-]{22}/gi, '/$1/…'],
  [/\/t\/([a-z])\/[^?#\s"\\{]+/gi, '/t/$1/…'],
  [/([?&](?:token|code|state|signature|s|u|e)=)[^&#\s"\\]+/gi, '$1…'],
  [/\b(sk|whsec)_[0-9a-f]{16,}/g, '$1_…'],
  // Session cookies and other JWTs. The pattern matches only at the start of a word, because trying
  // each "eyJ" in a long word would be slow.
  [/(?<![\w-])eyJ[\w-]+\.[\w-]+\.[\w-]+/g, 'eyJ…'],
  // Tokens in links of account mails.
  [/\b[0-9a-f]{64}\b/g, '…'],
];

/** Words that may be addresses: they contain no character that an address cannot have. */
const words = /[^\s"\\<>()[\],;:/?&=]+/gu;

/** Returns true if a word is an email address, possibly percent-encoded. */
function isAddress(word: string): boolean {
  const [name, ...domain] = word.replace(/%40/gi, '@').split('@');
  return name !== '' && domain.some((part) => part.includes('.'));
}

/** Removes addresses, keys, tokens, signatures and the ids of opt-out links from a log line. */
export function maskSecrets(line: string): string {
  const masked = masks.reduce((text, [pattern, instead]) => text.replace(pattern, instead), line);
  // Few lines contain an address, and the search below is expensive.
  if (!masked.includes('@') && !masked.includes('%40')) return masked;
  return masked.replace(words, (word) => (isAddress(word) ? '…@…' : word));
}

/** Masks an unknown path. A mistyped path may contain a secret or an address in any form. */
export function maskUnknownPath(path: string): string {
  return path
    .split('/')
    .map((segment) => (/^[\w-]{0,20}$/.test(segment) ? segment : '…'))
    .join('/');
}

/**
 * Returns the parts of an error that may be logged. All other fields are dropped, because they may
 * contain data: an error of PostgreSQL has the rejected row, an error of an HTTP client the
 * request.
 */
export function loggedError(error: unknown, { withStack }: { withStack: boolean }): unknown {
  if (!(error instanceof Error)) return typeof error;
  const { code, table, constraint } = error as Error &
    Partial<Record<'code' | 'table' | 'constraint', unknown>>;
  const about = Object.fromEntries(
    Object.entries({ code, table, constraint }).filter(([, value]) => typeof value === 'string'),
  );
  return {
    type: error.name,
    message: error.message,
    ...about,
    ...(withStack ? { stack: error.stack } : {}),
    ...(error.cause instanceof Error ? { cause: loggedError(error.cause, { withStack }) } : {}),
  };
}
