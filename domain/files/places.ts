import { cutText } from '../text-rules.ts';

/**
 * Places: dot paths of values inside a file. A key can be as long as a file, and many values can be
 * in one object, so long places are cut.
 */

/** Maximum number of characters of a place. */
export const placeMax = 500;

/** Returns a place, cut to the maximum length with `…` at the end. */
export function cutPlace(place: string): string {
  return place.length <= placeMax ? place : `${cutText(place, placeMax - 1)}…`;
}

/** Returns the place of a value inside another value. */
export function placeIn(outer: string, name: string): string {
  return cutPlace(`${cutPlace(outer)}.${cutPlace(name)}`);
}

/** Returns the place that names lead to; '': the file as a whole. */
export function placeOfNames([first = '', ...others]: readonly string[]): string {
  return others.reduce(placeIn, cutPlace(first));
}
