import { configs } from './workflow-graph.ts';

/** Returns a step of a portable graph, with the smallest valid config of its type. */
export function keyed(key: string, type: string, more: object = {}) {
  return { key, type, name: `${key} step`, config: configs[type], ...more };
}

/** Parses `a>b` or `a:yes>b` into transitions of a portable graph. */
export function ways(...texts: string[]) {
  return texts.map((text) => {
    const [start = '', to] = text.split('>');
    const [from, branch] = start.split(':');
    return { from, to, ...(branch === undefined ? {} : { branch }) };
  });
}

export const trigger = { key: 'trigger', type: 'TRIGGER', name: 'Start', config: {} };

/** Nine steps that need no template, among them a wait and a condition. */
export const nineSteps = {
  trigger: { type: 'EVENT', config: { eventName: 'signed_up' } },
  steps: [
    trigger,
    keyed('wait', 'WAIT_FOR_EVENT'),
    keyed('paid', 'UPDATE_CONTACT', { config: { updates: { paid: true } } }),
    keyed('which', 'CONDITION'),
    keyed('pro', 'UPDATE_CONTACT', { config: { updates: { seen: 'pro' } } }),
    keyed('free', 'UPDATE_CONTACT', { config: { updates: { seen: 'free' } } }),
    keyed('pause', 'DELAY', { config: { amount: 2, unit: 'days' } }),
    keyed('late', 'EXIT', { config: { reason: 'late' } }),
    keyed('end', 'EXIT', { config: { reason: 'end' } }),
  ],
  transitions: ways(
    'trigger>which',
    'which:yes>pro',
    'which:no>free',
    'pro>end',
    'free>wait',
    'wait:event>paid',
    'wait:timeout>late',
    'paid>pause',
    'pause>end',
  ),
};
