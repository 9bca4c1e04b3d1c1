import { Handle, type Node, type NodeProps, Position } from '@xyflow/react';
import { State } from '../../../design/parts.tsx';
import { type Step, typeNames } from '../../../journey/graph.ts';
import { summaryOf } from '../../../journey/summary.ts';

export type StepNodeType = Node<
  {
    step: Step;
    branches: readonly { id: string; name: string }[];
    isLit: boolean;
    tone: 'bad' | 'warning' | undefined;
  },
  'step'
>;

/** A step as a box, with a place for an arrow below each branch. */
export function StepNode({
  data: { step, branches, isLit, tone },
  selected,
}: NodeProps<StepNodeType>) {
  const summary = step.type === 'TRIGGER' ? '' : summaryOf(step);
  return (
    <div className={['step-node', selected && 'chosen', isLit && 'lit'].filter(Boolean).join(' ')}>
      {step.type !== 'TRIGGER' && <Handle type="target" position={Position.Top} />}
      <span className="second small">
        {typeNames[step.type]}
        {tone && <State tone={tone}>{tone === 'bad' ? 'Problem' : 'Warning'}</State>}
      </span>
      <strong>{step.name}</strong>
      {summary && <span className="second small summary">{summary}</span>}
      {branches.length > 1 && (
        <span className="branches small second">
          {branches.map(({ id, name }) => (
            <span key={id}>{name}</span>
          ))}
        </span>
      )}
      {branches.map(({ id }, at) => (
        <Handle
          key={id}
          id={id}
          type="source"
          position={Position.Bottom}
          style={{ left: `${((at + 0.5) / branches.length) * 100}%` }}
        />
      ))}
    </div>
  );
}
