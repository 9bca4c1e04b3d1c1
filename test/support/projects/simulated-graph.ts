/** A step of a simulated graph. */
export type Step = [type: string, config?: object, more?: object];

/**
 * Returns a graph whose steps have the keys as names and ids. Without `ways`, each step leads to
 * the next.
 */
export function graphOf(steps: Record<string, Step>, ways?: [string, string, string?][]) {
  const ids = ['start', ...Object.keys(steps)];
  const inLine = ids.slice(1).map((id, index): [string, string] => [ids[index] ?? '', id]);
  return {
    steps: [
      { id: 'start', type: 'TRIGGER', name: 'Start', config: { eventName: 'e' } },
      ...Object.entries(steps).map(([id, [type, config = {}, more]]) => ({
        id,
        type,
        name: id,
        config,
        ...more,
      })),
    ],
    transitions: (ways ?? inLine).map(([fromStepId, toStepId, branch]) => ({
      fromStepId,
      toStepId,
      ...(branch === undefined ? {} : { branch }),
    })),
  };
}

/** Returns a DELAY of some days. */
export const days = (amount: number): Step => ['DELAY', { amount, unit: 'days' }];
