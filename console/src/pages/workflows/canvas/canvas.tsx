import '@xyflow/react/dist/base.css';
import './canvas.css';
import {
  Background,
  Controls,
  type Connection,
  type Edge,
  type EdgeChange,
  MiniMap,
  type NodeChange,
  ReactFlow,
  ReactFlowProvider,
  useReactFlow,
} from '@xyflow/react';
import { type Dispatch, type DragEvent, useMemo, useState } from 'react';
import { Button } from '../../../design/button.tsx';
import type { EditAction } from '../../../journey/editing.ts';
import {
  addedTypes,
  branchesOf,
  findStep,
  findWay,
  type Journey,
  type StepType,
  targetsOf,
  typeNames,
} from '../../../journey/graph.ts';
import type { Finding } from '../../../journey/problems.ts';
import { StepNode, type StepNodeType } from './step-node.tsx';
import { tidied } from './tidy.ts';
import { WayEdge } from './way-edge.tsx';

const nodeTypes = { step: StepNode };
const edgeTypes = { way: WayEdge };
const mediaType = 'application/x-everpost-step';

interface CanvasProps {
  journey: Journey;
  chosen: string;
  findings: readonly Finding[];
  /** Keys of the steps that a simulation has visited. */
  lit: ReadonlySet<string>;
  dispatch: Dispatch<EditAction>;
}

/** The graph as boxes and arrows. All edits are also possible in the outline. */
export function Canvas(props: CanvasProps) {
  return (
    <ReactFlowProvider>
      <section className="card canvas" aria-label="Canvas">
        <Palette dispatch={props.dispatch} chosen={props.chosen} journey={props.journey} />
        <Flow {...props} />
      </section>
    </ReactFlowProvider>
  );
}

function Palette({
  journey,
  chosen,
  dispatch,
}: Pick<CanvasProps, 'journey' | 'chosen' | 'dispatch'>) {
  const { fitView } = useReactFlow();
  const step = findStep(journey, chosen);
  const add = (stepType: StepType) => {
    const free = step && branchesOf(journey, step).find(({ id }) => !findWay(journey, chosen, id));
    dispatch({ type: 'add', stepType, after: free ? chosen : null, branch: free?.id ?? null });
  };
  const tidy = () => {
    dispatch({ type: 'move', positions: tidied(journey) });
    setTimeout(() => void fitView({ duration: 120 }), 50);
  };
  return (
    <div className="palette">
      <div role="group" aria-label="Add step" className="actions">
        {addedTypes.map((type) => (
          <Button
            key={type}
            isSmall
            draggable
            title="Drag it onto the canvas, or press it to add it behind the chosen step."
            onDragStart={(event: DragEvent) => event.dataTransfer.setData(mediaType, type)}
            onClick={() => add(type)}
          >
            {typeNames[type]}
          </Button>
        ))}
      </div>
      <Button isSmall onClick={tidy}>
        Tidy up
      </Button>
    </div>
  );
}

function Flow({ journey, chosen, findings, lit, dispatch }: CanvasProps) {
  const flow = useReactFlow();
  const [dragged, setDragged] = useState<Record<string, { x: number; y: number }>>({});
  const [sizes, setSizes] = useState<Sizes>({});
  const nodes = useNodes({ journey, chosen, findings, lit, dragged, sizes });
  const edges = useEdges(journey, lit, dispatch);
  const changeNodes = (changes: NodeChange<StepNodeType>[]) => {
    const measured = changes.flatMap((change) =>
      change.type === 'dimensions' && change.dimensions ? [[change.id, change.dimensions]] : [],
    );
    if (measured.length > 0) setSizes((before) => ({ ...before, ...Object.fromEntries(measured) }));
    const moved = changes.filter((change) => change.type === 'position');
    const positions = Object.fromEntries(
      moved.flatMap(({ id, position }) => (position ? [[id, position]] : [])),
    );
    if (moved.length === 0) return;
    if (moved.some(({ dragging }) => dragging)) return setDragged({ ...dragged, ...positions });
    setDragged({});
    dispatch({ type: 'move', positions: { ...dragged, ...positions } });
  };
  const removeEdges = (changes: EdgeChange[]) => {
    for (const change of changes) {
      const edge = change.type === 'remove' && edges.find(({ id }) => id === change.id);
      if (edge) disconnect(edge);
    }
  };
  const disconnect = ({ source, sourceHandle }: Edge) =>
    dispatch({ type: 'disconnect', from: source, branch: branchOfHandle(sourceHandle) });
  const isAllowed = ({ source, target }: Connection | Edge) => {
    const from = findStep(journey, source);
    return from !== undefined && targetsOf(journey, from).some(({ key }) => key === target);
  };
  const drop = (event: DragEvent) => {
    const stepType = event.dataTransfer.getData(mediaType) as StepType;
    if (!stepType) return;
    event.preventDefault();
    const position = flow.screenToFlowPosition({ x: event.clientX, y: event.clientY });
    dispatch({ type: 'add', stepType, after: null, branch: null, position });
  };
  return (
    <div className="flow" onDrop={drop} onDragOver={(event) => event.preventDefault()}>
      <ReactFlow
        nodes={nodes}
        edges={edges}
        nodeTypes={nodeTypes}
        edgeTypes={edgeTypes}
        onNodesChange={changeNodes}
        onEdgesChange={removeEdges}
        onNodeClick={(_, { id }) => dispatch({ type: 'choose', key: id })}
        onConnect={({ source, sourceHandle, target }) =>
          dispatch({
            type: 'connect',
            from: source,
            branch: branchOfHandle(sourceHandle),
            to: target,
          })
        }
        isValidConnection={isAllowed}
        deleteKeyCode={null}
        minZoom={0.1}
        fitView
        fitViewOptions={{ maxZoom: 1 }}
        nodesFocusable={false}
        edgesFocusable={false}
        proOptions={{ hideAttribution: true }}
      >
        <Background />
        <Controls showInteractive={false} />
        <MiniMap pannable zoomable ariaLabel="Small map" style={{ width: 112, height: 80 }} />
      </ReactFlow>
    </div>
  );
}

/** Sizes of the boxes as the browser draws them. Arrows are drawn only between measured boxes. */
type Sizes = Readonly<Record<string, { width: number; height: number }>>;

const none = ' ';

/** Returns the branch of a handle. Every handle has a name, so `none` stands for no branch. */
const branchOfHandle = (handle: string | null | undefined) =>
  handle === none || !handle ? null : handle;

function useNodes({
  journey,
  chosen,
  findings,
  lit,
  dragged,
  sizes,
}: Omit<CanvasProps, 'dispatch'> & {
  dragged: Record<string, { x: number; y: number }>;
  sizes: Sizes;
}): StepNodeType[] {
  return useMemo(
    () =>
      journey.steps.map((step) => {
        const finding = findings.find(({ key }) => key === step.key);
        return {
          id: step.key,
          type: 'step',
          position: dragged[step.key] ?? step.position,
          selected: step.key === chosen,
          ...(sizes[step.key] && { measured: sizes[step.key]! }),
          data: {
            step,
            branches: branchesOf(journey, step).map(({ id, name }) => ({ id: id ?? none, name })),
            isLit: lit.has(step.key),
            tone: finding && (finding.isProblem ? 'bad' : 'warning'),
          },
        };
      }),
    [journey, chosen, findings, lit, dragged, sizes],
  );
}

function useEdges(journey: Journey, lit: ReadonlySet<string>, dispatch: Dispatch<EditAction>) {
  return useMemo(
    () =>
      journey.transitions.map(({ from, to, branch }): Edge => ({
        id: `${from} ${branch ?? ''} ${to}`,
        type: 'way',
        source: from,
        sourceHandle: branch ?? none,
        target: to,
        className: lit.has(from) && lit.has(to) ? 'lit' : '',
        data: {
          onAdd: (stepType: StepType) =>
            dispatch({ type: 'add', stepType, after: from, branch: branch ?? null }),
        },
      })),
    [journey, lit, dispatch],
  );
}
