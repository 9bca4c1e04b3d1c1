import { describe, expect, it } from 'vitest';
import { changesBetween } from '../../../api/access/changes.ts';

describe('the changes of a record', () => {
  it('are the fields whose values differ, whatever the order of keys', () => {
    const before = { name: 'A', caps: { a: 1, b: 2 }, note: 'x' };
    const after = { name: 'B', caps: { b: 2, a: 1 }, note: null };
    expect(changesBetween(before, after)).toEqual([
      { field: 'name', before: 'A', after: 'B' },
      { field: 'note', before: 'x', after: null },
    ]);
    expect(changesBetween(before, after, { fields: ['note'] })).toHaveLength(1);
  });

  it('hide secret values', () => {
    const changes = changesBetween({ key: 'old' }, { key: null }, { secret: ['key'] });
    expect(changes).toEqual([{ field: 'key', before: '•••', after: null }]);
  });

  it('keep length and hash of a long text or object', () => {
    const long = 'x'.repeat(201);
    expect(changesBetween({ body: long }, { body: 'short' })).toEqual([
      {
        field: 'body',
        before: { length: 201, sha256: expect.stringMatching(/^[0-9a-f]{64}$/) },
        after: 'short',
      },
    ]);
    const [change] = changesBetween({ graph: null }, { graph: { steps: [long] } });
    expect(change!.after).toHaveProperty('sha256');
  });
});
