import { linkIdsIn } from './link-ids.ts';
import { trackedCharsMax, withLinks } from './tracking.ts';
import { slugOf } from '../text-rules.ts';

/**
 * The UTM parameters that are added to links, from which analytics tools see the source of a visit.
 */

export const utmKeys = ['source', 'medium', 'campaign', 'term', 'content'] as const;

export type UtmKey = (typeof utmKeys)[number];

/** Names that a UTM value may contain in braces, such as `{campaign}`. */
export const utmNames = ['campaign', 'workflow', 'step', 'template', 'arm'] as const;

export type UtmValues = { [K in UtmKey]?: string | null | undefined };

/**
 * Values for `utmNames`: the names of a mail's campaign, workflow, step and template, and the id of
 * the mail's arm, which is its version in an experiment.
 */
export type UtmNames = { [K in (typeof utmNames)[number]]?: string | null | undefined };

/** The UTM values of a project; a campaign's own values override them. */
export interface UtmSource {
  values: UtmValues | null;
  /** Only links to these hosts and their subdomains get parameters; empty: all links. */
  hosts: readonly string[];
}

/** The parameters for the links of one mail. */
export interface Utm {
  parameters: readonly (readonly [name: string, value: string])[];
  hosts: readonly string[];
}

const namePattern = /\{([a-z]+)\}/g;

/** Returns the names in braces that are not in `utmNames`. */
export function unknownNames(value: string): string[] {
  const names = [...value.matchAll(namePattern)].map(([, name]) => name!);
  return names.filter((name) => !(utmNames as readonly string[]).includes(name));
}

/** Returns the parameters for a mail's links; null: the links stay unchanged. */
export function utmOf({ values, hosts }: UtmSource, names: UtmNames): Utm | null {
  const parameters = utmKeys.flatMap((key) => {
    const value = filled(values?.[key] ?? '', names);
    return value === '' ? [] : [[`utm_${key}`, value] as const];
  });
  return parameters.length > 0 ? { parameters, hosts } : null;
}

function filled(value: string, { arm, ...names }: UtmNames): string {
  return value.replace(namePattern, (written, name: string) => {
    if (name === 'arm') return arm ?? '';
    if (!(utmNames as readonly string[]).includes(name)) return written;
    return slugOf(names[name as keyof typeof names] ?? '');
  });
}

/**
 * Adds UTM parameters to the links of a mail that tracking may replace. The ids of the links do not
 * change.
 */
export function withUtm<C extends { body: string; link_ids: string[] | null }>(
  content: C,
  utm: Utm | null,
): C {
  if (!utm) return content;
  return {
    ...content,
    link_ids: content.link_ids ?? linkIdsIn(content.body),
    body: withLinks(content.body, (target) => addUtm(target, utm)),
  };
}

/**
 * Returns a URL with the parameters at the end of its query; null: nothing is added. Parameters
 * that the URL already has stay, and so does every other byte.
 */
export function addUtm(url: string, { parameters, hosts }: Utm): string | null {
  if (!isAmong(hosts, url)) return null;
  const [, address = '', query = '', fragment = ''] = /^([^?#]*)(\?[^#]*)?(.*)$/s.exec(url) ?? [];
  const present = new Set([...new URLSearchParams(query).keys()].map((key) => key.toLowerCase()));
  const added = parameters
    .filter(([name]) => !present.has(name))
    .map(([name, value]) => `${name}=${encodeURIComponent(value)}`)
    .join('&');
  if (added === '') return null;
  const separator = query === '' ? '?' : /[?&]$/.test(query) ? '' : '&';
  const longer = `${address}${query}${separator}${added}${fragment}`;
  // A URL that is too long could no longer be tracked.
  return longer.length > trackedCharsMax ? null : longer;
}

function isAmong(hosts: readonly string[], url: string): boolean {
  if (hosts.length === 0) return true;
  const host = (URL.parse(url)?.hostname ?? '').replace(/\.$/, '');
  return hosts.some((name) => host === name || host.endsWith(`.${name}`));
}
