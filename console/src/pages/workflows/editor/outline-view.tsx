import { useId } from 'react';
import { State } from '../../../design/parts.tsx';
import { type Journey, typeNames } from '../../../journey/graph.ts';
import { outlineOf, type OutlineItem } from '../../../journey/outline.ts';
import type { Finding } from '../../../journey/problems.ts';
import { summaryOf } from '../../../journey/summary.ts';

/** All steps as a list, in the order of the transitions. */
export function OutlineView({
  journey,
  chosen,
  findings,
  lit,
  onChoose,
}: {
  journey: Journey;
  chosen: string;
  findings: readonly Finding[];
  /** Keys of the steps that a simulation has visited. */
  lit: ReadonlySet<string>;
  onChoose: (key: string) => void;
}) {
  return (
    <section className="card outline">
      <header>
        <h2 id="outline">Outline</h2>
      </header>
      <ol aria-labelledby="outline">
        {outlineOf(journey).map((item) => (
          <Item
            key={item.step.key}
            item={item}
            isChosen={item.step.key === chosen}
            isLit={lit.has(item.step.key)}
            finding={findings.find(({ key }) => key === item.step.key)}
            onChoose={onChoose}
          />
        ))}
      </ol>
    </section>
  );
}

function Item({
  item: { step, depth, branch, leadsTo, isReached },
  isChosen,
  isLit,
  finding,
  onChoose,
}: {
  item: OutlineItem;
  isChosen: boolean;
  isLit: boolean;
  finding: Finding | undefined;
  onChoose: (key: string) => void;
}) {
  const id = useId();
  const summary = step.type === 'TRIGGER' ? '' : summaryOf(step);
  return (
    <li
      className={[isChosen && 'chosen', isLit && 'lit'].filter(Boolean).join(' ')}
      style={{ paddingInlineStart: `${8 + Math.min(depth, 6) * 16}px` }}
    >
      {branch && <span className="branch">{branch}</span>}
      <button
        type="button"
        aria-current={isChosen ? 'step' : undefined}
        aria-describedby={id}
        onClick={() => onChoose(step.key)}
      >
        {step.name}
      </button>
      <span id={id} className="second small">
        {[typeNames[step.type], summary].filter(Boolean).join(' · ')}
        {leadsTo.length > 0 && ` → ${leadsTo.join(', ')}`}
        {!isReached && ' · no way leads here'}
        {isLit && ' · passed'}
      </span>
      {finding && (
        <span className="small">
          <State tone={finding.isProblem ? 'bad' : 'warning'}>
            {finding.isProblem ? 'Problem' : 'Warning'}
          </State>
        </span>
      )}
    </li>
  );
}
