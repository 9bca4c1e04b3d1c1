import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { createReturnPaths } from '../../providers/return-paths.ts';

const secretsOf = (jwtSecret: string, jwtSecretsPrevious: string[] = []) => ({
  jwtSecret: jwtSecret.repeat(32),
  jwtSecretsPrevious: jwtSecretsPrevious.map((secret) => secret.repeat(32)),
});
const domain = 'bounces.everpost.test';

describe('return paths', () => {
  it('differ from mail to mail, and lead back to their mail', () => {
    const paths = createReturnPaths(secretsOf('a'), domain);
    const [id, other] = [randomUUID(), randomUUID()];
    expect(paths.pathOf(id, 'shop.test')).toMatch(/@bounces\.everpost\.test$/);
    expect(paths.emailIdOf(paths.pathOf(id, 'shop.test').toUpperCase())).toBe(id);
    const [local = '', otherLocal = ''] = [id, other].map((one) => paths.pathOf(one, 'shop.test'));
    const forged = `${local.split('.')[0]}.${otherLocal.split('.').slice(1).join('.')}`;
    expect(paths.emailIdOf(forged)).toBeNull();
  });

  it('made with a former secret are still valid, others are not', () => {
    const id = randomUUID();
    const path = createReturnPaths(secretsOf('a'), domain).pathOf(id, 'shop.test');
    expect(createReturnPaths(secretsOf('b', ['a']), domain).emailIdOf(path)).toBe(id);
    expect(createReturnPaths(secretsOf('b'), domain).emailIdOf(path)).toBeNull();
  });

  it('are those of the sender domain when none is set', () => {
    const paths = createReturnPaths(secretsOf('a'), null);
    expect(paths.pathOf(randomUUID(), 'shop.test')).toBe('bounce@shop.test');
  });
});
