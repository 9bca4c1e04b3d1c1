import { mapStrings } from '../template/liquid-context.ts';
import { markSecrets } from './in-templates.ts';

/** Rules about secrets that may be sent only to certain hosts. */

/** A secret and the hosts to which it may be sent; null: any host. */
export interface BoundSecret {
  name: string;
  hosts: readonly string[] | null;
}

const written = /^(\*\.)?(\[[0-9a-f:.]+\]|[^\s:[\]/\\?#@%*]+)(?::(\d{1,5}))?$/i;
const isAddress = /^\[|^[\d.]+$/;
const portMax = 65_535;

/**
 * Returns the stored form of a host: in lower case and Punycode. A prefix `*.` (all names below the
 * host) and a port stay. null: the text is no host.
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

/** Returns the host of a URL without a trailing dot, because the dot does not change the host. */
function bareHost({ hostname }: URL): string {
  return hostname.replace(/\.$/, '');
}

/** Returns true if a request to this URL may contain a secret that is bound to these hosts. */
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

/** Returns the message for secrets that must not be sent to the host of this URL. */
export function foreignSecretsText(names: readonly string[], { host }: URL): string {
  return (
    `The \`hosts\` of these secrets do not allow ${host}: ${names.join(', ')}. For each, send ` +
    'PUT /secrets/{name} with its value, and with this host in `hosts`.'
  );
}

/**
 * Returns the URL of a WEBHOOK step as far as its template determines it; the path may be
 * incomplete. null: the host depends on a placeholder.
 */
export function knownAddress(template: string): URL | null {
  const text = template.trim();
  const opening = text.search(/\{[{%]/);
  const fixed = opening === -1 ? text : text.slice(0, opening);
  // The text before the first placeholder must contain the whole host.
  const [address] =
    (opening === -1 ? [fixed] : /^https?:[/\\]*[^/\\?#]+[/\\?#]/i.exec(fixed)) ?? [];
  return address !== undefined && URL.canParse(address) ? new URL(address) : null;
}

/** Returns the names of the secrets in a WEBHOOK step's config, each once. */
export function namedSecrets(config: Record<string, unknown>): string[] {
  const names = new Set<string>();
  mapStrings([config['url'], config['headers'], config['body']], (text) => {
    for (const name of markSecrets(text, '').names) names.add(name);
    return text;
  });
  return [...names];
}
