import { mapStrings } from '../template/liquid-context.ts';
import { markSecrets } from './in-templates.ts';

/** Secrets that are bound to hosts: they are put into requests to these alone. */

/** A secret with its hosts; null: it goes to any. */
export interface BoundSecret {
  name: string;
  hosts: readonly string[] | null;
}

const written = /^(\*\.)?(\[[0-9a-f:.]+\]|[^\s:[\]/\\?#@%*]+)(?::(\d{1,5}))?$/i;
const isAddress = /^\[|^[\d.]+$/;
const portMax = 65_535;

/**
 * A host as it is stored: in lower case and Punycode, `*.` before it for all names below, a port behind it.
 * null: it is none.
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

/** The dot of a name's root changes nothing. */
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

/** The names of those secrets that a request to this address must not have. */
export function foreignSecrets(secrets: readonly BoundSecret[], url: URL): string[] {
  return secrets.flatMap(({ name, hosts }) =>
    hosts === null || fitsHost(hosts, url) ? [] : [name],
  );
}

/**
 * The address of a WEBHOOK step, as far as its template says it: the path and more may be cut off. null: only
 * the request tells its host.
 */
export function knownAddress(template: string): URL | null {
  const text = template.trim();
  const opening = text.search(/\{[{%]/);
  const fixed = opening === -1 ? text : text.slice(0, opening);
  // Before the end of the host, a placeholder is a part of it.
  const [address] =
    (opening === -1 ? [fixed] : /^https?:[/\\]*[^/\\?#]+[/\\?#]/i.exec(fixed)) ?? [];
  return address !== undefined && URL.canParse(address) ? new URL(address) : null;
}

/** The secrets that a config of a WEBHOOK step names, each once. */
export function namedSecrets(config: Record<string, unknown>): string[] {
  const names = new Set<string>();
  mapStrings([config['url'], config['headers'], config['body']], (text) => {
    for (const name of markSecrets(text, '').names) names.add(name);
    return text;
  });
  return [...names];
}
