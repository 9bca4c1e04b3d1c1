import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { fileDifferences } from '../../../domain/files/difference.ts';
import { isJsonEqual } from '../../../domain/filter/value.ts';

const workflow = {
  name: 'Onboarding',
  enabled: true,
  trigger: { type: 'EVENT', config: { eventName: 'signed_up' } },
  steps: [
    { key: 'welcome', type: 'SEND_EMAIL', name: 'Welcome', template: 'welcome' },
    { key: 'two-days', type: 'DELAY', name: 'Two days', config: { amount: 2, unit: 'days' } },
  ],
  transitions: [
    { from: 'trigger', to: 'welcome' },
    { from: 'welcome', to: 'two-days' },
  ],
};

describe('the differences of two files', () => {
  it('name a step by its key', () => {
    const [welcome, delay] = workflow.steps;
    const after = {
      ...workflow,
      steps: [{ ...delay, config: { amount: 3, unit: 'days' } }, welcome],
    };
    expect(fileDifferences(workflow, after)).toEqual({
      fields: [{ at: 'steps.two-days.config.amount', before: 2, after: 3 }],
      fieldCount: 1,
    });
  });

  it('are none when only steps or transitions are in another order', () => {
    const after = {
      ...workflow,
      steps: workflow.steps.toReversed(),
      transitions: workflow.transitions.toReversed(),
    };
    expect(fileDifferences(workflow, after)).toEqual({ fields: [], fieldCount: 0 });
  });

  it('name items of other lists by their index', () => {
    const transitions = [workflow.transitions[0], { from: 'welcome', to: 'thanks' }];
    const after = { ...workflow, transitions };
    expect(fileDifferences(workflow, after).fields).toEqual([
      { at: 'transitions.1.to', before: 'two-days', after: 'thanks' },
    ]);
    expect(fileDifferences({ events: ['a'] }, { events: ['a', 'b'] }).fields).toEqual([
      { at: 'events.1', before: null, after: 'b' },
    ]);
  });

  it('of a new file are all its fields', () => {
    expect(fileDifferences(null, { name: 'News', condition: { groups: [] } }).fields).toEqual([
      { at: 'name', before: null, after: 'News' },
      { at: 'condition.groups', before: null, after: [] },
    ]);
  });

  it('show null where a field is left out', () => {
    const before = { description: 'Old', headers: { 'X-Token': '•••' } };
    expect(fileDifferences(before, { description: 'Old' }).fields).toEqual([
      { at: 'headers.X-Token', before: '•••', after: null },
    ]);
  });

  it('list a text that becomes an object, and its fields', () => {
    expect(fileDifferences({ where: 'x' }, { where: { a: 1 } }).fields).toEqual([
      { at: 'where', before: 'x', after: null },
      { at: 'where.a', before: null, after: 1 },
    ]);
  });

  it('tell null from a field that is left out, but not in a new file', () => {
    const fields = [{ at: 'config.topic', before: null, after: null }];
    const [without, withNull] = [{ config: {} }, { config: { topic: null } }];
    expect(fileDifferences(without, withNull)).toEqual({ fields, fieldCount: 1 });
    expect(fileDifferences(withNull, without)).toEqual({ fields, fieldCount: 1 });
    expect(fileDifferences({ body: [] }, { body: [null] }).fieldCount).toBe(1);
    expect(fileDifferences(null, { template: null })).toEqual({ fields: [], fieldCount: 0 });
  });

  it('list the parts of a list that becomes an object', () => {
    expect(fileDifferences({ body: ['a'] }, { body: { 0: 'a' } }).fields).toEqual([
      { at: 'body.0', before: 'a', after: null },
      { at: 'body.0', before: null, after: 'a' },
    ]);
  });

  it('are none only between equal values', () => {
    const value = fc.letrec((tie) => ({
      value: fc.oneof(
        { maxDepth: 3 },
        fc.constantFrom(null, 'a', 0, true),
        fc.array(tie('value'), { maxLength: 2 }),
        fc.dictionary(fc.constantFrom('0', '1', 'a'), tie('value'), { maxKeys: 2 }),
      ),
    })).value;
    fc.assert(
      fc.property(value, value, (before, after) => {
        const { fieldCount } = fileDifferences({ body: before }, { body: after });
        expect(fieldCount === 0).toBe(isJsonEqual(before, after));
      }),
      { numRuns: 2_000 },
    );
  });

  it('have short places, however long the keys are', () => {
    const values = Object.fromEntries(Array.from({ length: 100 }, (_, n) => [`f${n}`, n]));
    const { fields } = fileDifferences(null, { body: { ['x'.repeat(1e6)]: { a: values } } });
    expect(fields).toHaveLength(100);
    for (const { at } of fields) expect(at).toMatch(/^body\.x{494}…$/);
  });

  it('are the first 100, with long texts cut', () => {
    const many = Object.fromEntries(
      Array.from({ length: 150 }, (_, index) => [`f${index}`, 'x'.repeat(201)]),
    );
    const { fields, fieldCount } = fileDifferences(null, many);
    expect([fields.length, fieldCount]).toEqual([100, 150]);
    expect(fields[0]).toEqual({ at: 'f0', before: null, after: `${'x'.repeat(200)}…` });
    expect(fileDifferences({ a: 'x'.repeat(200) }, {}).fields[0]?.before).toHaveLength(200);
  });
});
