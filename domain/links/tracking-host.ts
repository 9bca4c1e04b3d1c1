/** Returns a URL with another host and without a path. The scheme and the port stay. */
export function urlOnHost(url: string, host: string): string {
  const other = new URL(url);
  other.hostname = host;
  return other.href.replace(/\/$/, '');
}

/**
 * Returns true if a host name may be used for tracked links: it has at least three labels and is no
 * IP address.
 */
export function mayBeTrackingHost(host: string): boolean {
  return host.split('.').length > 2 && !/^[\d.]+$/.test(host);
}
