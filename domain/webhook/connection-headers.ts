/**
 * Headers that belong to the connection (RFC 9110, 7.6.1), and `expect`, which asks for 100
 * Continue.
 */
export const connectionHeaders: ReadonlySet<string> = new Set([
  'connection',
  'expect',
  'keep-alive',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
]);
