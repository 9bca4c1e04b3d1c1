import { describe, expect, it } from 'vitest';
import type { DrawnStep } from '../../../../domain/workflow/portable/redrawing.ts';
import type { DrawnVersion } from '../../../../domain/workflow/versions/version.ts';
import { changesMax, versionChanges } from '../../../../domain/workflow/versions/changes.ts';

const step = (id: string, more: Partial<DrawnStep> = {}): DrawnStep => ({
  id,
  key: id,
  type: 'DELAY',
  name: `Step ${id}`,
  config: { amount: 1, unit: 'days' },
  templateId: null,
  position: { x: 0, y: 0 },
  ...more,
});
const trigger = (config: object = { eventName: 'began' }) =>
  step('t', { type: 'TRIGGER', name: 'Trigger', config: { ...config } });
const version = (steps: DrawnStep[], more: Partial<DrawnVersion> = {}): DrawnVersion => ({
  triggerType: 'EVENT',
  steps,
  transitions: [],
  ...more,
});
const textsOf = (before: DrawnVersion, after: DrawnVersion, restoredFrom: number | null = null) =>
  versionChanges(before, after, restoredFrom).map(({ text }) => text);

describe('the changes of a version', () => {
  it('say what of a step is another', () => {
    const before = version([trigger(), step('a'), step('m', { type: 'SEND_EMAIL', config: {} })]);
    const after = version([
      trigger(),
      step('a', { name: 'Rest', config: { amount: 2, unit: 'hours' }, position: { x: 9, y: 0 } }),
      step('m', { type: 'SEND_EMAIL', config: { topicId: null }, templateId: 'one' }),
    ]);
    expect(textsOf(before, after)).toEqual([
      'Rest: name "Step a" → "Rest", amount 1 → 2, unit "days" → "hours", moved',
      'Step m: template chosen',
    ]);
    expect(textsOf(after, before)).toEqual([
      'Step a: name "Rest" → "Step a", amount 2 → 1, unit "hours" → "days", moved',
      'Step m: template removed',
    ]);
    const other = version([
      ...after.steps.slice(0, 2),
      { ...after.steps[2]!, templateId: 'two', config: { topicId: 'news' } },
    ]);
    expect(textsOf(after, other)).toEqual(['Step m: topicId null → "news", another template']);
    expect(textsOf(other, after)).toEqual(['Step m: topicId "news" → null, another template']);
  });

  it('name settings inside of settings, and those that came and went', () => {
    const hook = (config: object) =>
      version([trigger(), step('c', { type: 'WEBHOOK', config: { ...config } })]);
    const before = hook({ body: { a: [{ b: 1 }] }, method: 'POST' });
    const after = hook({ body: { a: [{ b: 2 }] }, list: [] });
    expect(textsOf(before, after)).toEqual([
      'Step c: body.a.0.b 1 → 2, method removed, list set to []',
    ]);
  });

  it('say which conditions of an event came and went', () => {
    const wait = (...where: object[]) =>
      version([
        trigger(),
        step('w', { type: 'WAIT_FOR_EVENT', config: { eventName: 'paid', where } }),
      ]);
    const ofOrder = { field: 'event.orderId', operator: 'equals', valueOf: 'context.orderId' };
    const large = { field: 'event.total', operator: 'greaterThan', value: 10 };
    const known = { field: 'contact.data.plan', operator: 'exists' };
    expect(textsOf(wait(), wait(ofOrder))).toEqual([
      'Step w: condition event.orderId equals context.orderId added',
    ]);
    expect(textsOf(wait(large, known), wait(known))).toEqual([
      'Step w: condition event.total greater than 10 removed',
    ]);
    expect(textsOf(wait(large, known), wait(known, large))).toEqual([
      'Step w: conditions combined or ordered differently',
    ]);
    const started = (where: object[]) => version([trigger({ eventName: 'began', where })]);
    expect(textsOf(started([]), started([large]))).toEqual([
      'Trigger: condition event.total greater than 10 added',
    ]);
  });

  it('name the branches of a CONDITION and the arms of a SPLIT', () => {
    const of = (type: 'CONDITION' | 'SPLIT', config: object) =>
      version([trigger(), step('s', { type, config: { ...config } })]);
    const multi = (...branches: object[]) =>
      of('CONDITION', { mode: 'multi', field: 'x', branches });
    const pro = { id: 'a', name: 'Pro', operator: 'equals', value: 'pro' };
    const free = { id: 'b', name: 'Free', operator: 'equals', value: 'free' };
    expect(textsOf(multi(pro), multi({ ...pro, value: 'plus' }, free))).toEqual([
      'Step s: branch "Pro" value "pro" → "plus", branch "Free" added',
    ]);
    expect(textsOf(multi(pro, free), multi(free, pro))).toEqual([
      'Step s: branches in another order',
    ]);
    const bought = { field: 'event.bought', operator: 'triggeredWithin', value: 30, unit: 'days' };
    const inGermany = { field: 'data.country', operator: 'equals', value: 'DE' };
    const filters = (logic: string, ...conditions: object[]) =>
      of('CONDITION', {
        mode: 'filter',
        branches: [
          { id: 'a', name: 'Buyers', filter: { logic, groups: [{ filters: conditions }] } },
        ],
      });
    expect(textsOf(filters('AND', bought), filters('AND', bought, inGermany))).toEqual([
      'Step s: branch "Buyers" condition data.country equals "DE" added',
    ]);
    expect(textsOf(filters('AND', bought), filters('AND', inGermany))).toEqual([
      'Step s: branch "Buyers" condition data.country equals "DE" added, ' +
        'branch "Buyers" condition event.bought triggered within 30 days removed',
    ]);
    expect(textsOf(filters('AND', bought, inGermany), filters('OR', bought, inGermany))).toEqual([
      'Step s: branch "Buyers" conditions combined or ordered differently',
    ]);
    const arm = (id: string, weight: number) => ({ id, name: id.toUpperCase(), weight });
    const split = (...arms: object[]) => of('SPLIT', { arms });
    expect(textsOf(split(arm('a', 50), arm('b', 50)), split(arm('a', 70), arm('c', 30)))).toEqual([
      'Step s: arm "A" weight 50 → 70, arm "C" added, arm "B" removed',
    ]);
  });

  it('name the branch of a transition', () => {
    const arms = [{ id: 'x', name: 'Short', weight: 1 }];
    const steps = [trigger(), step('s', { type: 'SPLIT', config: { arms } }), step('a')];
    const way = { id: 'w', fromStepId: 's', toStepId: 'a', branch: 'x' };
    expect(textsOf(version(steps), version(steps, { transitions: [way] }))).toEqual([
      'Step s → Step a (Short · 100 %): added',
    ]);
  });

  it('say in one place that the trigger is another, which names its step', () => {
    const before = version([trigger()]);
    const after = version(
      [step('t', { type: 'TRIGGER', name: 'Trigger: 0 8 * * 1', config: { cron: '0 8 * * 1' } })],
      { triggerType: 'SCHEDULE' },
    );
    expect(versionChanges(before, after, null)).toEqual([
      {
        kind: 'trigger',
        stepId: null,
        name: null,
        text: 'Trigger: type "EVENT" → "SCHEDULE", eventName removed, cron set to "0 8 * * 1"',
      },
    ]);
  });

  it('name the events of exit rules', () => {
    const rule = (eventName: string, reason = 'r') => ({ eventName, reason });
    const before = version([trigger()], { exitRules: [rule('a'), rule('b')] });
    const after = version([trigger()], { exitRules: [rule('b', 'other'), rule('c')] });
    expect(textsOf(before, after)).toEqual([
      'Exit rules: "b" reason "r" → "other", "c" added, "a" removed',
    ]);
    const turned = version([trigger()], { exitRules: [rule('b'), rule('a')] });
    expect(textsOf(before, turned)).toEqual(['Exit rules: rules in another order']);
    const where = [{ field: 'event.id', operator: 'equals' as const, valueOf: 'context.id' }];
    const narrower = version([trigger()], { exitRules: [{ ...rule('a'), where }, rule('b')] });
    expect(textsOf(before, narrower)).toEqual([
      'Exit rules: "a" condition event.id equals context.id added',
    ]);
  });

  it('name both ends of transitions, also of steps that are gone', () => {
    const way = (fromStepId: string, toStepId: string, branch: string | null = null) => ({
      id: `${fromStepId}${toStepId}`,
      fromStepId,
      toStepId,
      branch,
    });
    const before = version([trigger(), step('a')], { transitions: [way('t', 'a', 'yes')] });
    const after = version([trigger(), step('b')], { transitions: [way('t', 'b')] });
    expect(versionChanges(before, after, 7)).toEqual([
      { kind: 'restored', stepId: null, name: null, text: 'Restored from version 7' },
      { kind: 'step_added', stepId: 'b', name: 'Step b', text: 'Step b: added' },
      { kind: 'step_removed', stepId: 'a', name: 'Step a', text: 'Step a: removed' },
      {
        kind: 'transition_added',
        stepId: 't',
        name: 'Trigger',
        text: 'Trigger → Step b: added',
      },
      {
        kind: 'transition_removed',
        stepId: 't',
        name: 'Trigger',
        text: 'Trigger → Step a (yes): removed',
      },
    ]);
  });

  it('say that a credential changed, and never what it is', () => {
    const hook = (token: string) =>
      version([
        trigger(),
        step('h', {
          type: 'WEBHOOK',
          config: { url: 'https://x.example/', headers: { Authorization: token, 'X-A': token } },
        }),
      ]);
    expect(textsOf(hook('one'), hook('two'))).toEqual([
      'Step h: headers.Authorization changed, headers.X-A "one" → "two"',
    ]);
  });

  it('are bounded in number, length and depth', () => {
    const many = Array.from({ length: 500 }, (_, index) => step(`s${index}`));
    expect(versionChanges(version([trigger()]), version([trigger(), ...many]), null)).toHaveLength(
      changesMax,
    );
    let deep: unknown = 'x'.repeat(10_000);
    for (let depth = 0; depth < 500; depth += 1) deep = { a: deep };
    const [text = ''] = textsOf(
      version([trigger(), step('h')]),
      version([trigger(), step('h', { name: 'n'.repeat(200), config: { body: deep } })]),
    );
    expect(text.length).toBeLessThanOrEqual(300);
  });

  it('of the first version say that it was made', () => {
    expect(versionChanges(null, version([trigger()]), null)).toMatchObject([
      { kind: 'created', text: 'Created' },
    ]);
    expect(versionChanges(null, version([trigger(), step('a')]), null)).toMatchObject([
      { kind: 'created', text: 'Created with 1 step after the trigger' },
    ]);
  });
});
