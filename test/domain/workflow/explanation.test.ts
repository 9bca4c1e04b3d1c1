import { describe, expect, it } from 'vitest';
import { explanationOf } from '../../../domain/workflow/explanation.ts';
import type { StepType } from '../../../domain/workflow/steps/registry.ts';

const explained = (type: StepType, config: object, output: object | null) =>
  explanationOf({ type, config: { ...config } }, output && { ...output });

describe('the explanation of a step', () => {
  it('says what a wait compares with, and what ended it', () => {
    const where: object[] = [
      { field: 'event.orderId', operator: 'equals', valueOf: 'context.orderId' },
      { field: 'event.total', operator: 'greaterThanOrEqual', value: 10 },
    ];
    const config = { eventName: 'paid', where };
    const resolved = [{ field: 'event.orderId', operator: 'equals', value: 'A-7' }, where[1]];
    const waitingFor = { eventName: 'paid', where: resolved };
    expect(explained('WAIT_FOR_EVENT', config, { waitingFor })).toBe(
      'waits for "paid" where event.orderId equals "A-7" and event.total greater than or equal 10',
    );
    const expected =
      '"paid" where event.orderId equals context.orderId and event.total greater than or equal 10';
    expect(explained('WAIT_FOR_EVENT', config, { waitOutcome: 'EVENT' })).toBe(`got ${expected}`);
    expect(explained('WAIT_FOR_EVENT', config, { waitOutcome: 'TIMEOUT' })).toBe(
      `got no ${expected} in time`,
    );
    expect(explained('WAIT_FOR_EVENT', { eventName: 'paid' }, { waitOutcome: 'EVENT' })).toBe(
      'got "paid"',
    );
    expect(explained('WAIT_FOR_EVENT', config, { waitingFor, skipped: true })).toBeNull();
    expect(explained('WAIT_FOR_EVENT', config, null)).toBeNull();
  });

  it('says what a digest has taken, and why it has closed', () => {
    const where = [{ field: 'event.n', operator: 'greaterThan', value: 1 }];
    const config = { eventName: 'commented', where };
    const said = (output: object) => explained('DIGEST', config, { count: 2, ...output });
    const taken = '2 × "commented" where event.n greater than 1';
    expect(said({})).toBe(`takes ${taken} so far`);
    expect(said({ closedBy: 'time' })).toBe(`took ${taken}, and closed at its end`);
    expect(said({ closedBy: 'max' })).toBe(
      `took ${taken}, and closed because it had \`max\` events`,
    );
  });

  it('says which arm was drawn', () => {
    const output = { arm: 'a', name: 'Short', by: 'key' };
    expect(explained('SPLIT', {}, output)).toBe('drew the arm "Short" for its key');
  });

  it('says why a CONDITION took its branch', () => {
    const decided = {
      field: 'data.plan',
      operator: 'equals',
      expectedValue: 'pro',
      actualValue: 'free',
      result: false,
      branch: 'no',
    };
    const none = { ...decided, operator: null, expectedValue: null, branch: 'default' };
    expect(explained('CONDITION', {}, decided)).toBe(
      'data.plan equals "pro" does not hold: it is "free"',
    );
    expect(explained('CONDITION', {}, none)).toBe('no branch holds: data.plan is "free"');
    const filter = {
      operator: 'OR',
      conditions: [
        { field: 'event.bought', operator: 'triggeredWithin', value: 30, unit: 'days' },
        { field: 'data.plan', operator: 'exists' },
      ],
    };
    const config = { mode: 'filter', branches: [{ id: 'b0', name: 'Buyers', filter }] };
    const checked = (id: string) => ({ mode: 'filter', checked: [{ id, result: true }] });
    expect(explained('CONDITION', config, checked('b0'))).toBe(
      '"Buyers" (event.bought triggered within 30 days; data.plan exists) holds',
    );
    // Decided by another version, which had other branches.
    expect(explained('CONDITION', config, checked('gone'))).toBe('"gone" holds');
    expect(explained('CONDITION', decided, checked('gone'))).toBe('"gone" holds');
    expect(explained('CONDITION', config, decided)).toContain('data.plan equals "pro"');
  });
});
