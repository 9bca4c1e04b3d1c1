import { describe, expect, it } from 'vitest';
import { drawArm, split } from '../../../domain/workflow/steps/split.ts';

const subjects = Array.from({ length: 10_000 }, (_, index) => `contact ${index}`);

/** Builds arms from their weights. */
const armsOf = (weights: Record<string, number>) =>
  Object.entries(weights).map(([id, weight]) => ({ id, name: id, weight }));

function drawAll(weights: Record<string, number>, salt = 'salt'): string[] {
  const arms = armsOf(weights);
  return subjects.map((subject) => drawArm(arms, salt, subject).id);
}

/** Counts the moves between arms, by `a > b`. */
function movesBetween(before: string[], after: string[]): Record<string, number> {
  const moves: Record<string, number> = {};
  before.forEach((arm, index) => {
    const move = `${arm} > ${after[index]}`;
    if (arm !== after[index]) moves[move] = (moves[move] ?? 0) + 1;
  });
  return moves;
}

describe('the draw of a SPLIT', () => {
  it.each([
    { a: 50, b: 50 },
    { a: 1, b: 2, c: 3, d: 0 },
    { a: 1000, b: 10 },
    Object.fromEntries(Array.from({ length: 10 }, (_, index) => [`arm ${index}`, index + 1])),
  ])('gives every arm its share of 10,000 contacts: %j', (weights: Record<string, number>) => {
    const drawn = drawAll(weights);
    const sum = Object.values(weights).reduce((one, other) => one + other);
    for (const [arm, weight] of Object.entries(weights)) {
      const share = weight / sum;
      const deviation = Math.sqrt(subjects.length * share * (1 - share));
      const count = drawn.filter((id) => id === arm).length;
      expect(Math.abs(count - subjects.length * share)).toBeLessThanOrEqual(4 * deviation);
    }
  });

  it('moves contacts into a raised arm only', () => {
    const moves = movesBetween(drawAll({ a: 10, b: 20, c: 30 }), drawAll({ a: 10, b: 20, c: 60 }));
    expect(Object.keys(moves).toSorted()).toEqual(['a > c', 'b > c']);
  });

  it('moves contacts out of a lowered or removed arm only', () => {
    const before = drawAll({ a: 10, b: 20, c: 30 });
    for (const after of [
      { a: 10, b: 20, c: 5 },
      { a: 10, b: 20, c: 0 },
      { a: 10, b: 20 },
    ]) {
      const moves = movesBetween(before, drawAll(after));
      expect(Object.keys(moves).toSorted()).toEqual(['c > a', 'c > b']);
    }
  });

  it('does not depend on the order of the arms', () => {
    expect(drawAll({ b: 20, a: 10 })).toEqual(drawAll({ a: 10, b: 20 }));
  });

  it('is independent for another salt', () => {
    const [one, other] = [drawAll({ a: 1, b: 1 }, 'one'), drawAll({ a: 1, b: 1 }, 'other')];
    const same = one.filter((arm, index) => arm === other[index]).length;
    expect(Math.abs(same - 5_000)).toBeLessThanOrEqual(4 * 50);
  });
});

describe('a SPLIT', () => {
  const config = { arms: armsOf({ a: 1, b: 1 }) };
  const play = (given: object, subject: { contact: string; key: string | null }, id = 'step') =>
    split.play!(
      { id, name: 'Split', templateId: null, config: { ...config, ...given } },
      // It reads no other argument.
      { subject } as Parameters<NonNullable<typeof split.play>>[1],
    );
  const armsDrawn = (given: object, id?: string) =>
    Promise.all(
      subjects.slice(0, 100).map(async (contact, index) => {
        const played = await play(given, { contact, key: `${index % 10}` }, id);
        if (played.kind !== 'branch') throw new Error(`It is ${played.kind}.`);
        const { output } = played;
        return `${String(output['arm'])} ${String(output['by'])}`;
      }),
    );

  it('draws by its own id, or by a salt that steps share', async () => {
    expect(await armsDrawn({}, 'one')).not.toEqual(await armsDrawn({}, 'other'));
    expect(await armsDrawn({ salt: 'x' }, 'one')).toEqual(await armsDrawn({ salt: 'x' }, 'other'));
  });

  it('draws by the key of the execution, or by the contact without one', async () => {
    const byKey = await armsDrawn({ by: 'key' });
    expect(byKey.slice(10, 20)).toEqual(byKey.slice(0, 10));
    expect(new Set(byKey)).toEqual(new Set(['a key', 'b key']));
    const played = await play({ by: 'key' }, { contact: subjects[0]!, key: null });
    expect(played).toEqual(await play({}, { contact: subjects[0]!, key: null }));
    expect(played).toMatchObject({ kind: 'branch', output: { by: 'contact' } });
  });

  it('names its arms with their shares', () => {
    const names = (weights: Record<string, number>) =>
      split.branches!({ arms: armsOf(weights) }).map(({ name }) => name);
    expect(names({ a: 1, b: 2, c: 0 })).toEqual(['a · 33.3 %', 'b · 66.7 %', 'c · 0 %']);
    expect(names({ a: 1000, b: 1000, c: 1 })).toEqual(['a · 50 %', 'b · 50 %', 'c · < 0.1 %']);
  });
});
