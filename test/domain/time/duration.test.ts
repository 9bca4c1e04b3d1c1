import { describe, expect, it } from 'vitest';
import { durationText, secondsOf } from '../../../domain/time/duration.ts';

describe('a duration', () => {
  it.each([
    ['90s', 90],
    ['15m', 900],
    ['36h', 129_600],
    ['3d', 259_200],
    ['1d12h', 129_600],
    ['1d2h3m4s', 93_784],
    ['0s', 0],
  ])('%s has %i seconds', (text, seconds) => {
    expect(secondsOf(text)).toBe(seconds);
  });

  it.each(['', 'd', '3', '3 days', '1h1d', '1.5h', '-1s', '1d1d'])('is not "%s"', (text) => {
    expect(secondsOf(text)).toBeNull();
  });

  it('is written with its largest units first', () => {
    const texts = [0, 90, 129_600, 93_784, 0.25].map(durationText);
    expect(texts).toEqual(['0s', '1m30s', '1d12h', '1d2h3m4s', '0.25s']);
  });
});
