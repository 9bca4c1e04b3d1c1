import type { Condition, Segment } from '../../api/api.ts';
import { CheckField, SelectField, TextField } from '../../design/fields.tsx';
import type { FormState } from '../../design/form.tsx';
import { FilterBuilder } from '../../filter/filter-builder.tsx';
import { noCondition } from '../../filter/tree.ts';

export interface SegmentValues {
  name: string;
  description: string;
  type: Segment['type'];
  condition: Condition;
  trackMembership: boolean;
}

export const newSegment: SegmentValues = {
  name: '',
  description: '',
  type: 'DYNAMIC',
  condition: noCondition,
  trackMembership: false,
};

export const valuesOf = (segment: Segment): SegmentValues => ({
  name: segment.name,
  description: segment.description ?? '',
  type: segment.type,
  condition: segment.condition ?? noCondition,
  trackMembership: segment.trackMembership,
});

/** The body of the request. A segment with chosen members has no condition. */
export function bodyOf({ name, description, type, condition, trackMembership }: SegmentValues) {
  const about = { name, description: description === '' ? null : description };
  return type === 'STATIC' ? about : { ...about, trackMembership, condition };
}

const types = [
  { value: 'DYNAMIC', text: 'By a filter: who matches is a member' },
  { value: 'STATIC', text: 'Chosen: you add and remove members' },
];

export function SegmentFields({
  form,
  isNew = false,
}: {
  form: FormState<SegmentValues>;
  isNew?: boolean;
}) {
  const { type, condition, trackMembership } = form.values;
  const fault = condition.groups.length === 0 && form.errorOf('condition');
  return (
    <>
      <div className="segment-fields">
        <TextField label="Name" autoComplete="off" {...form.field('name')} />
        <TextField label="Description" autoComplete="off" {...form.field('description')} />
        <SelectField
          label="Type"
          {...form.field('type')}
          options={types}
          disabled={!isNew}
          onChange={(next) => form.set({ type: next as Segment['type'] })}
          hint={isNew ? 'It cannot be changed later.' : undefined}
        />
      </div>
      {type === 'DYNAMIC' && (
        <>
          <FilterBuilder
            value={condition}
            canSave={false}
            onChange={(next) => form.set({ condition: next })}
            errorOf={(at) => form.errorOf(`condition.${at}`)}
          />
          {fault && (
            <p className="fault" role="alert">
              Add a condition: it says who is a member.
            </p>
          )}
          <CheckField
            label="Track entry and exit"
            {...form.field('trackMembership')}
            value={trackMembership}
            hint="An event is recorded for each contact that enters or leaves. Workflows can start with it."
          />
        </>
      )}
    </>
  );
}
