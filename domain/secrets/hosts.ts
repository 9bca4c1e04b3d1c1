import { mapStrings } from '../template/liquid-context.ts';
import { markSecrets } from './in-templates.ts';

/** Secrets that are bound to hosts: only requests to these hosts may contain them. */

/** A secret with its hosts; null: requests to any host may contain it. */
export interface BoundSecret {
  name: string;
  hosts: readonly string[] | null;
}

const written = /^(\*\.)?(\[[0-9a-f:.]+\]|[^\s:[\]/\\?#@%*]+)(?::(\d{1,5}))?$/i;
const isAddress = /^\[|^[\d.]+$/;
const portMax = 65_535;

/**
 * Returns the stored form of a host: lower case and Punycode, with `*.` (all names below the host)
 * and the port, if the text has them. null: the text is no host.
 */
export function normaliseHost(text: string): string | null {
  const [, wildcard = '', name = '', port] = written.exec(text.trim()) ?? [];
  if (name === '' || !URL.canParse(`http://${name}/`)) return null;
  const host = bareHost(new URL(`http://${name}/`));
  const number = Number(port ?? 1);
  if (host === '' || number < 1 || number > portMax) return null;
  if (wildcard !== '' && isAddress.test(host)) return null;
  return `${wildcard}${host}${port === undefined ? '' : `:${number}`}`;
}

/** Returns the host of a URL without a trailing dot, which names the same host. */
function bareHost({ hostname }: URL): string {
  return hostname.replace(/\.$/, '');
}

/** Returns true if a request to this address may use a secret bound to these hosts. */
export function fitsHost(hosts: readonly string[], url: URL): boolean {
  const host = bareHost(url);
  const port = url.port || (url.protocol === 'https:' ? '443' : '80');
  return hosts.some((bound) => {
    const [, wildcard, name, boundPort] = written.exec(bound) ?? [];
    if (boundPort !== undefined && boundPort !== port) return false;
    return wildcard === undefined ? host === name : host.endsWith(`.${name}`);
  });
}

/** Returns the names of the secrets that a request to this URL must not contain. */
export function foreignSecrets(secrets: readonly BoundSecret[], url: URL): string[] {
  return secrets.flatMap(({ name, hosts }) =>
    hosts === null || fitsHost(hosts, url) ? [] : [name],
  );
}

/** The message for secrets in a request to the host of this URL, which must not contain them. */
export function foreignSecretsText(names: readonly string[], { host }: URL): string {
  return (
    `These secrets must not be sent to ${host}: ${names.join(', ')}. For each, send ` +
    'PUT /secrets/{name} with the value of the secret, and with this host in `hosts`.'
  );
}

/**
 * Returns the URL of a WEBHOOK step as far as its template determines it; the path may be cut off.
 * null: the host is known only when the request is made.
 */
export function knownAddress(template: string): URL | null {
  const text = template.trim();
  const opening = text.search(/\{[{%]/);
  const fixed = opening === -1 ? text : text.slice(0, opening);
  // The host is known only if it ends before the first placeholder.
  const [address] =
    (opening === -1 ? [fixed] : /^https?:[/\\]*[^/\\?#]+[/\\?#]/i.exec(fixed)) ?? [];
  return address !== undefined && URL.canParse(address) ? new URL(address) : null;
}

/** Returns the secrets that a WEBHOOK step's config refers to, each once. */
export function namedSecrets(config: Record<string, unknown>): string[] {
  const names = new Set<string>();
  mapStrings([config['url'], config['headers'], config['body']], (text) => {
    for (const name of markSecrets(text, '').names) names.add(name);
    return text;
  });
  return [...names];
}
