import { parser } from '@prometheus-io/lezer-promql';

/** The names in an expression of Prometheus. */
export interface PromqlNames {
  metrics: string[];
  /** Labels by which series are chosen, grouped or joined. */
  labels: string[];
}

/** Parses an expression of Prometheus. @throws Error when it is not valid */
export function promqlNames(expression: string): PromqlNames {
  const names: PromqlNames = { metrics: [], labels: [] };
  parser.parse(expression).iterate({
    enter({ type, from, to, node }) {
      const text = expression.slice(from, to);
      if (type.isError) throw new Error(`Not valid at ${from}: ${expression}`);
      if (type.name === 'Identifier' && node.parent?.name === 'VectorSelector') {
        names.metrics.push(text);
      }
      if (type.name === 'LabelName') names.labels.push(text);
    },
  });
  return names;
}
