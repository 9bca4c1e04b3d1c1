import { describe, expect, it } from 'vitest';
import type { z } from 'zod';
import { Days, LocalDateTimeText, WallTimeText, Zone } from '../../../domain/time/schemas.ts';

/** Returns the code of the only issue, as in a response. */
function codeOf(schema: z.ZodType, value: unknown): unknown {
  const [issue] = schema.safeParse(value).error?.issues ?? [];
  return issue?.code === 'custom' ? issue.params?.['code'] : issue?.code;
}

describe('what requests give of zones and wall times', () => {
  it('is kept as sent', () => {
    expect(Zone.parse('europe/kyiv')).toBe('europe/kyiv');
    expect(WallTimeText.parse('09:00')).toBe('09:00');
    expect(LocalDateTimeText.parse('2027-03-28T02:30')).toBe('2027-03-28T02:30');
  });

  it('names days once each, Monday first', () => {
    expect(Days.parse(['sun', 'mon', 'sun'])).toEqual(['mon', 'sun']);
  });

  it.each([
    [Zone, '+02:00', 'invalid_string'],
    [Zone, 2, 'invalid_type'],
    [WallTimeText, '25:00', 'invalid_string'],
    [LocalDateTimeText, '2026-02-30T09:00', 'invalid_date'],
    [LocalDateTimeText, '2026-02-03T09:00Z', 'invalid_date'],
    [Days, [], 'too_small'],
    [Days, ['Mon'], 'invalid_value'],
  ] as const)('is refused: %#', (schema, value, code) => {
    expect(codeOf(schema, value)).toBe(code);
  });
});
