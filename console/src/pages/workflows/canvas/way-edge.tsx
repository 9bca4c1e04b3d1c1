import { BaseEdge, EdgeLabelRenderer, type EdgeProps, getSmoothStepPath } from '@xyflow/react';
import { Menu } from '../../../design/menu.tsx';
import { addedTypes, type StepType, typeNames } from '../../../journey/graph.ts';

/** An arrow between two steps, with a button `+` that adds a step in between. */
export function WayEdge({ data, markerEnd, ...place }: EdgeProps) {
  const [path, x, y] = getSmoothStepPath(place);
  const { onAdd } = data as { onAdd: (type: StepType) => void };
  return (
    <>
      <BaseEdge path={path} markerEnd={markerEnd} />
      <EdgeLabelRenderer>
        <span
          className="way-add nodrag nopan"
          style={{ transform: `translate(-50%, -50%) translate(${x}px, ${y}px)` }}
        >
          <Menu
            button={
              <button type="button" title="Add a step here" tabIndex={-1}>
                +
              </button>
            }
            items={addedTypes
              .filter((type) => type !== 'EXIT')
              .map((type) => ({ text: typeNames[type], onChoose: () => onAdd(type) }))}
          />
        </span>
      </EdgeLabelRenderer>
    </>
  );
}
