/**
 * What must not stand in a log: whoever reads one could opt contacts out, follow links in their
 * name, or act with a key. Pairs of a pattern and what is written instead.
 */
const masks: readonly (readonly [RegExp, string])[] = [
  // The ids of opt-out and confirmation links, in pages and in the API for pages of customers.
  [/\/(unsubscribe|subscribe|manage|confirm|contacts\/public)\/[^/?#\s"\\{]+/gi, '/$1/…'],
  // The id of a contact is the secret part of those links, wherever it stands.
  [/\/(contacts?|recipients)\/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f-]{22}/gi, '/$1/…'],
  [/\/t\/([a-z])\/[^?#\s"\\{]+/gi, '/t/$1/…'],
  [/([?&](?:token|code|state|signature|s|u|e)=)[^&#\s"\\]+/gi, '$1…'],
  [/\b(sk|whsec)_[0-9a-f]{16,}/g, '$1_…'],
  // Session cookies and other tokens in the form of a JWT; tokens of account mails.
  // Only where a word begins: within a long one each "eyJ" would be looked at again.
  [/(?<![\w-])eyJ[\w-]+\.[\w-]+\.[\w-]+/g, 'eyJ…'],
  [/\b[0-9a-f]{64}\b/g, '…'],
];

/** A line of a log without keys, tokens, signatures and the ids of opt-out links. */
export function maskSecrets(line: string): string {
  return masks.reduce((text, [pattern, instead]) => text.replace(pattern, instead), line);
}

/** A path nobody serves: who mistyped one may have put a secret into it, in any spelling. */
export function maskUnknownPath(path: string): string {
  return path
    .split('/')
    .map((segment) => (segment.length > 20 ? '…' : segment))
    .join('/');
}
