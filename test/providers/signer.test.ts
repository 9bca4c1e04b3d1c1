import { createHmac, hkdfSync } from 'node:crypto';
import { expect, it } from 'vitest';
import { createSigner } from '../../providers/encryption.ts';

it('signs by HMAC-SHA256, as links already sent were signed', () => {
  const secret = 'a secret of thirty-two characters';
  const key = Buffer.from(hkdfSync('sha256', secret, '', 'everpost tracking links', 32));
  const sign = createSigner(secret, 'tracking links');
  for (const text of [
    '',
    'a',
    'ä😀',
    'x'.repeat(1_344),
    'ä'.repeat(1_345),
    'y'.repeat(20_000),
    'b',
  ]) {
    expect(sign(text)).toBe(createHmac('sha256', key).update(text).digest('base64url'));
  }
});
