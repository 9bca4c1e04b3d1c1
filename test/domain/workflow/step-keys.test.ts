import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { keysOf } from '../../../domain/workflow/portable/step-keys.ts';

const step = (name: string, key: string | null = null, type = 'DELAY') => ({ key, type, name });

describe('keysOf', () => {
  it('makes keys from names', () => {
    const names = [
      'Two days',
      '  Größe & Preis! ',
      'Déjà-vu',
      '待つ',
      '…',
      'Trigger',
      'x'.repeat(99),
    ];
    expect(keysOf(names.map((name) => step(name)))).toEqual([
      'two-days',
      'große-preis',
      'deja-vu',
      '待つ',
      'delay',
      'trigger-2',
      'x'.repeat(40),
    ]);
    expect(keysOf([step('…', null, 'WAIT_FOR_EVENT')])).toEqual(['wait-for-event']);
  });

  it('calls the TRIGGER trigger, whatever its name', () => {
    expect(keysOf([step('Start', null, 'TRIGGER'), step('Start')])).toEqual(['trigger', 'start']);
  });

  it('keeps what is known and numbers what would be the same', () => {
    const steps = [step('A'), step('A'), step('A'), step('B', 'a'), step('C', 'a-3')];
    expect(keysOf(steps)).toEqual(['a-2', 'a-4', 'a-5', 'a', 'a-3']);
  });

  it('makes unique keys, and always the same', () => {
    const name = fc.constantFrom('a', 'A', 'a 2', 'a-2', '!', 'trigger', 'delay', 'b');
    fc.assert(
      fc.property(
        fc.array(name),
        fc.uniqueArray(fc.constantFrom('a', 'b', 'a-2')),
        (made, known) => {
          const steps = [...made.map((one) => step(one)), ...known.map((key) => step('a', key))];
          const keys = keysOf(steps);
          expect(new Set([...keys, 'trigger']).size).toBe(steps.length + 1);
          const stored = steps.map((one, index) => ({ ...one, key: keys[index]!, name: 'other' }));
          expect(keysOf(stored)).toEqual(keys);
        },
      ),
    );
  });
});
