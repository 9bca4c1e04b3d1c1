import type { CampaignUtm, UtmInput } from '../../../api/api.ts';

export const utmKeys = ['source', 'medium', 'campaign', 'term', 'content'] as const;
export type UtmKey = (typeof utmKeys)[number];

/** A UTM parameter of a campaign. If the text is empty, the project's parameter is used. */
export interface UtmValue {
  text: string;
  /** True: the links of the campaign do not get the parameter of the project. */
  isLeftOut: boolean;
}

export type UtmValues = Readonly<Record<UtmKey, UtmValue>>;

function forEachKey<T>(valueOf: (key: UtmKey) => T): Record<UtmKey, T> {
  return Object.fromEntries(utmKeys.map((key) => [key, valueOf(key)])) as Record<UtmKey, T>;
}

export const utmValues = (utm: CampaignUtm | undefined): UtmValues =>
  forEachKey((key) => ({ text: utm?.[key] ?? '', isLeftOut: utm?.[key] === null }));

export function utmRequest(values: UtmValues): UtmInput | null {
  const given = utmKeys.flatMap((key): [UtmKey, string | null][] => {
    const { text, isLeftOut } = values[key];
    if (isLeftOut) return [[key, null]];
    return text === '' ? [] : [[key, text]];
  });
  return given.length === 0 ? null : Object.fromEntries(given);
}
