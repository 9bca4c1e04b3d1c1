import { Graph, layout } from '@dagrejs/dagre';
import type { Journey } from '../../../journey/graph.ts';

const box = { width: 220, height: 84 };

/** Returns positions in layers, so that arrows lead downwards. */
export function tidied({ steps, transitions }: Journey): Record<string, { x: number; y: number }> {
  const graph = new Graph({ multigraph: true });
  graph.setGraph({ rankdir: 'TB', ranker: 'tight-tree', nodesep: 48, ranksep: 56 });
  for (const { key } of steps) graph.setNode(key, { ...box });
  for (const { from, to, branch = 'next' } of transitions) graph.setEdge(from, to, {}, branch);
  layout(graph);
  return Object.fromEntries(
    steps.map(({ key }) => {
      const { x, y } = graph.node(key) as { x: number; y: number };
      return [key, { x: Math.round(x - box.width / 2), y: Math.round(y - box.height / 2) }];
    }),
  );
}
