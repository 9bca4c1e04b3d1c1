import { type Journey, waysOut } from './graph.ts';
import { outlineOf } from './outline.ts';

const across = 280;
const down = 140;

/** Places the steps of a small graph in rows, with branches beside each other. */
export function placed(journey: Journey): Journey {
  const rows = rowsOf(journey);
  const columns = columnsOf(journey);
  const steps = journey.steps.map((step) => ({
    ...step,
    position: {
      x: 100 + across * (columns.get(step.key) ?? 0),
      y: 100 + down * (rows.get(step.key) ?? 0),
    },
  }));
  return { ...journey, steps };
}

/** Returns the row of each step, which is below the rows of all steps that lead to it. */
function rowsOf(journey: Journey): Map<string, number> {
  const rows = new Map<string, number>();
  const visit = (key: string, row: number) => {
    if ((rows.get(key) ?? -1) >= row) return;
    rows.set(key, row);
    for (const { to } of waysOut(journey, key)) visit(to, row + 1);
  };
  for (const { step } of outlineOf(journey)) if (!rows.has(step.key)) visit(step.key, 0);
  return rows;
}

/**
 * Returns the column of each step. The first branch stays in the column of its step, and each other
 * branch gets a new column.
 */
function columnsOf(journey: Journey): Map<string, number> {
  const columns = new Map<string, number>();
  let last = 0;
  const visit = (key: string, column: number) => {
    if (columns.has(key)) return;
    columns.set(key, column);
    waysOut(journey, key).forEach(({ to }, at) => {
      if (columns.has(to)) return;
      if (at > 0) last += 1;
      visit(to, at === 0 ? column : last);
    });
  };
  for (const { step } of outlineOf(journey)) visit(step.key, last);
  return columns;
}
