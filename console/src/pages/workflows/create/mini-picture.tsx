import { findStep, type Journey, type StepType } from '../../../journey/graph.ts';

const scale = 0.32;
const box = { width: 76, height: 24 };

const signs: Readonly<Record<StepType, string>> = {
  TRIGGER: 'M4 1 1 6h3L3 11l5-6H5l1-4z',
  SEND_EMAIL: 'M1 2h10v8H1zM1 3l5 4 5-4',
  DELAY: 'M6 1a5 5 0 1 0 .01 0M6 3v3l2 2',
  WAIT_FOR_EVENT: 'M6 1a5 5 0 1 0 .01 0M6 3v3h2',
  CONDITION: 'M6 1l5 5-5 5-5-5z',
  SPLIT: 'M6 1v4M6 5l-4 6M6 5l4 6',
  DIGEST: 'M1 3h10M1 6h10M1 9h10',
  WEBHOOK: 'M4 3 1 6l3 3M8 3l3 3-3 3',
  UPDATE_CONTACT: 'M6 1a2.5 2.5 0 1 0 .01 0M1 11c1-4 9-4 10 0',
  EXIT: 'M2 2h8v8H2z',
};

/** A small picture of a graph, without words. */
export function MiniPicture({ journey }: { journey: Journey }) {
  const at = (key: string) => {
    const { x, y } = findStep(journey, key)!.position;
    return { x: (x - 100) * scale, y: (y - 100) * scale };
  };
  const places = journey.steps.map(({ key }) => at(key));
  const width = Math.max(...places.map(({ x }) => x)) + box.width + 2;
  const height = Math.max(...places.map(({ y }) => y)) + box.height + 2;
  return (
    <svg
      className="mini-picture"
      viewBox={`-1 -1 ${width} ${height}`}
      width={width}
      height={height}
      aria-hidden="true"
    >
      {journey.transitions.map(({ from, to }) => {
        const [start, end] = [at(from), at(to)];
        const middle = (start.y + box.height + end.y) / 2;
        const [x1, x2] = [start.x + box.width / 2, end.x + box.width / 2];
        return (
          <path
            key={`${from} ${to}`}
            d={`M${x1} ${start.y + box.height}V${middle}H${x2}V${end.y}`}
          />
        );
      })}
      {journey.steps.map(({ key, type }) => {
        const { x, y } = at(key);
        return (
          <g key={key} className={type === 'SEND_EMAIL' ? 'mail' : undefined}>
            <rect x={x} y={y} {...box} rx="5" />
            <path d={signs[type]} transform={`translate(${x + 32} ${y + 6})`} />
          </g>
        );
      })}
    </svg>
  );
}
