/** Returns a URL without a path, on another host: scheme and port stay. */
export function urlOnHost(url: string, host: string): string {
  const other = new URL(url);
  other.hostname = host;
  return other.href.replace(/\/$/, '');
}

/**
 * Returns true if a host name can be one for tracked links: a label below a domain, which has a dot
 * itself.
 */
export function mayBeTrackingHost(host: string): boolean {
  return host.split('.').length > 2 && !/^[\d.]+$/.test(host);
}
