import { describe, expect, test } from 'vitest';
import {
  type Arm,
  armOf,
  numbersOf,
  stateOf,
  winnerOf,
} from '../../../domain/experiment/experiment.ts';

function arm(id: string): Arm {
  const own = { subject: null, body: null, from: null, fromName: null, replyTo: null };
  return { id, name: null, templateId: null, ...own };
}

const contacts = Array.from({ length: 100_000 }, (_, index) => `contact-${index}`);

function sizes(arms: Arm[], testPercent: number, campaignId = 'campaign') {
  const counts = new Map<string | null, number>();
  for (const contact of contacts) {
    const id = armOf({ arms, testPercent }, campaignId, contact)?.id ?? null;
    counts.set(id, (counts.get(id) ?? 0) + 1);
  }
  return counts;
}

describe('the groups of an experiment', () => {
  test('are within half a percent of their shares of 100,000 contacts', () => {
    const five = ['a', 'b', 'c', 'd', 'e'].map(arm);
    const counts = sizes(five, 50);
    for (const { id } of five) expect(Math.abs(counts.get(id)! / 1_000 - 10)).toBeLessThan(0.5);
    expect(Math.abs(counts.get(null)! / 1_000 - 50)).toBeLessThan(0.5);
  });

  test('leave no rest when the test is for all contacts', () => {
    const counts = sizes([arm('a'), arm('b')], 100);
    expect([...counts.keys()].sort()).toEqual(['a', 'b']);
    expect(counts.get('a')! + counts.get('b')!).toBe(contacts.length);
  });

  test('are the same each time, and others in another campaign', () => {
    const arms = [arm('a'), arm('b')];
    const drawn = (campaignId: string) =>
      contacts.slice(0, 1_000).map((id) => armOf({ arms, testPercent: 40 }, campaignId, id)?.id);
    expect(drawn('one')).toEqual(drawn('one'));
    expect(drawn('one')).not.toEqual(drawn('other'));
  });

  test('keep the arm of a contact when the test group grows', () => {
    const arms = [arm('a'), arm('b'), arm('c')];
    for (const contact of contacts.slice(0, 2_000)) {
      const small = armOf({ arms, testPercent: 20 }, 'campaign', contact);
      if (small) expect(armOf({ arms, testPercent: 70 }, 'campaign', contact)).toBe(small);
    }
  });
});

const rules = { minPerArm: 100, minProbability: null };

describe('the decision', () => {
  test('is for the arm with the highest rate', () => {
    const numbers = numbersOf([
      { id: 'a', sent: 200, hits: 10 },
      { id: 'b', sent: 100, hits: 9 },
    ]);
    expect(numbers.map(({ rate }) => rate)).toEqual([5, 9]);
    expect(winnerOf(rules, numbers)).toEqual({ arm: 'b', by: 'metric' });
  });

  test('is for the first arm when an arm has too few mails, or rates are equal', () => {
    const few = numbersOf([
      { id: 'a', sent: 200, hits: 1 },
      { id: 'b', sent: 99, hits: 90 },
    ]);
    expect(winnerOf(rules, few)).toEqual({ arm: 'a', by: 'too_few' });
    const equal = numbersOf([
      { id: 'a', sent: 200, hits: 20 },
      { id: 'b', sent: 100, hits: 10 },
    ]);
    expect(winnerOf(rules, equal)).toEqual({ arm: 'a', by: 'tie' });
  });

  test('is a tie when the best arm is not likely enough to be the best', () => {
    const numbers = numbersOf([
      { id: 'a', sent: 1_000, hits: 50 },
      { id: 'b', sent: 1_000, hits: 55 },
    ]);
    expect(winnerOf({ ...rules, minProbability: 95 }, numbers).by).toBe('tie');
    expect(winnerOf({ ...rules, minProbability: 60 }, numbers)).toEqual({ arm: 'b', by: 'metric' });
  });
});

test('the state of an experiment follows its campaign until it is decided', () => {
  const testing = { decided_at: null, waits_until: null };
  const waiting = { decided_at: null, waits_until: new Date() };
  const decided = { decided_at: new Date(), waits_until: null };
  expect(stateOf('SCHEDULED', null)).toBe('DRAFT');
  expect(stateOf('CANCELLED', null)).toBe('CANCELLED');
  expect(stateOf('SENDING', testing)).toBe('TESTING');
  expect(stateOf('PAUSED', waiting)).toBe('WAITING');
  expect(stateOf('CANCELLED', waiting)).toBe('CANCELLED');
  expect(stateOf('CANCELLED', decided)).toBe('DECIDED');
  expect(stateOf('SENT', decided)).toBe('DECIDED');
});
