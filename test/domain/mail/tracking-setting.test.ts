import { describe, expect, it } from 'vitest';
import { isTracked } from '../../../domain/mail/tracking-setting.ts';

describe('which mail is tracked', () => {
  it.each([
    ['ENABLED', 'TRANSACTIONAL', true],
    ['ENABLED', 'MARKETING', true],
    ['MARKETING_ONLY', 'TRANSACTIONAL', false],
    ['MARKETING_ONLY', 'MARKETING', true],
    ['MARKETING_ONLY', 'HEADLESS', true],
    ['DISABLED', 'MARKETING', false],
  ] as const)('%s, %s mail: %s', (setting, messageClass, expected) => {
    expect(isTracked(setting, messageClass)).toBe(expected);
  });
});
