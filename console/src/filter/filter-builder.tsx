import './filter.css';
import { type ReactNode, useId, useMemo } from 'react';
import type { Condition } from '../api/api.ts';
import { Button } from '../design/button.tsx';
import { SelectField } from '../design/fields.tsx';
import { counted } from '../words/numbers.ts';
import { type Fields, type JourneyStart, useFields } from './fields.ts';
import { FilterLine } from './filter-line.tsx';
import { isComplete } from './operators.ts';
import { SaveAsSegment } from './save-as-segment.tsx';
import {
  type Change,
  changed,
  completePart,
  conditionOf,
  type Group,
  isWithinDepth,
  noCondition,
  type Place,
  treeOf,
} from './tree.ts';
import { useContactCount } from './use-contact-count.ts';

interface BuilderProps {
  /** The condition, which may contain incomplete filters; null: there is none. */
  value: Condition | null;
  onChange: (condition: Condition) => void;
  /** The error of a path inside the condition, from the API: `groups.0.filters.0.value`. */
  errorOf?: (path: string) => string | undefined;
  /**
   * The number of matching contacts if the page knows this number; otherwise the builder counts the
   * contacts.
   */
  total?: number | undefined;
  /** False: the filter is part of a segment, so no button saves the filter as a segment. */
  canSave?: boolean;
  /** The segment inside which contacts are counted. */
  segmentId?: string | undefined;
  /** The workflow that has this filter. If present, matching contacts are not counted. */
  journey?: JourneyStart;
  /** Name of the region, if the page has several filter builders. */
  label?: string;
}

/**
 * Edits a condition on contacts, with as many nested levels as the API accepts, and shows the
 * number of matches.
 */
export function FilterBuilder({
  value,
  onChange,
  errorOf,
  total,
  canSave = true,
  segmentId,
  journey,
  label = 'Filter',
}: BuilderProps) {
  const fields = useFields(journey);
  const heading = useId();
  const condition = value ?? noCondition;
  const tree = useMemo(() => treeOf(condition), [condition]);
  const apply = (change: Change) => onChange(conditionOf(changed(tree, change)));
  const complete = completePart(condition, isComplete);
  return (
    <section className="card filter" aria-labelledby={heading}>
      <header>
        <h2 id={heading}>{label}</h2>
        {!journey && (
          <div className="actions">
            <Counted condition={inSegment(complete, segmentId)} total={total} />
            {canSave && <SaveAsSegment condition={complete} />}
          </div>
        )}
      </header>
      <div className="body">
        <GroupParts
          group={tree}
          root={tree}
          place={[]}
          fields={fields}
          apply={apply}
          errorOf={errorOf ?? (() => undefined)}
        />
      </div>
    </section>
  );
}

/** Returns the condition, restricted to members of a segment. */
function inSegment(condition: Condition | null, segmentId: string | undefined): Condition | null {
  if (!segmentId) return condition;
  const member = { field: `segment.${segmentId}`, operator: 'memberOfSegment' } as const;
  const groups = [{ filters: [member], ...(condition && { conditions: condition }) }];
  return { logic: 'AND', groups };
}

function Counted({ condition, total }: { condition: Condition | null; total: number | undefined }) {
  const count = useContactCount(condition, total === undefined);
  const shown = total ?? count;
  return (
    <span role="status" className="second">
      {shown === undefined ? '' : counted(shown, 'contact')}
    </span>
  );
}

interface Inner {
  group: Group;
  root: Group;
  place: Place;
  fields: Fields;
  apply: (change: Change) => void;
  errorOf: (path: string) => string | undefined;
}

const matches = [
  { value: 'AND', text: 'all' },
  { value: 'OR', text: 'any' },
];

function GroupParts({ group, root, place, fields, apply, errorOf }: Inner): ReactNode {
  const deeper: Change = { kind: 'addGroup', place };
  const tooDeep = !isWithinDepth(changed(root, deeper)) && 'Conditions can be 5 levels deep.';
  return (
    <>
      <div className="filter-match">
        <SelectField
          label="Match"
          value={group.logic}
          options={matches}
          onChange={(logic) => apply({ kind: 'setLogic', place, logic: logic as Group['logic'] })}
        />
      </div>
      {group.parts.map((part, index) => {
        const at = [...place, index];
        return part.kind === 'filter' ? (
          <FilterLine
            key={index}
            filter={part.filter}
            fields={fields}
            errorOf={(key) => errorOf(`${part.at}.${key}`)}
            onChange={(filter) => apply({ kind: 'setFilter', place: at, filter })}
            onRemove={() => apply({ kind: 'remove', place: at })}
          />
        ) : (
          <div key={index} className="filter-group" role="group" aria-label="Group">
            <GroupParts
              group={part.group}
              root={root}
              place={at}
              fields={fields}
              apply={apply}
              errorOf={errorOf}
            />
            <Button
              kind="plain"
              isSmall
              aria-label="Remove group"
              onClick={() => apply({ kind: 'remove', place: at })}
            >
              ×
            </Button>
          </div>
        );
      })}
      <div className="actions">
        <Button isSmall onClick={() => apply({ kind: 'addFilter', place })}>
          Add condition
        </Button>
        <Button isSmall disabledBecause={tooDeep} onClick={() => apply(deeper)}>
          Add group
        </Button>
      </div>
    </>
  );
}
