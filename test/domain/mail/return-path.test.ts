import { createHash } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { provenEmailId, returnPathOf } from '../../../domain/mail/return-path.ts';

const proofOf = (id: string) => createHash('sha256').update(id).digest('hex');
const isProof = (id: string, proof: string) => proofOf(id).startsWith(proof);

describe('the return path of a mail', () => {
  it('has a local part of at most 64 characters that survive a change of case', () => {
    fc.assert(
      fc.property(fc.uuid(), (id) => {
        const path = returnPathOf(id, 'bounces.everpost.example', proofOf);
        expect(path).toMatch(/^[a-z0-9+.=-]{1,64}@bounces\.everpost\.example$/);
        expect(provenEmailId(path, isProof)).toBe(id);
        expect(provenEmailId(`<${path.toUpperCase()}>`, isProof)).toBe(id);
      }),
    );
  });

  it('is refused with one character changed', () => {
    const path = returnPathOf('c4b6d7c2-93cf-4e0a-8b1b-0a6f1f5f3e21', 'x.example', proofOf);
    const local = path.slice(0, path.indexOf('@'));
    for (const at of Array.from(local, (_, index) => index)) {
      const other = local[at] === '0' ? '1' : '0';
      const changed = `${local.slice(0, at)}${other}${local.slice(at + 1)}@x.example`;
      expect(provenEmailId(changed, isProof)).toBeNull();
    }
  });

  it.each(['', '<>', 'bounce@x.example', 'bounce+@x.example', 'bounce+zz.0@x.example'])(
    'is not %j',
    (address) => expect(provenEmailId(address, () => true)).toBeNull(),
  );
});
