import { z } from 'zod';
import type { SegmentRow } from '../../db/segments/segments.ts';
import { conditionToFlat } from '../../domain/filter/forms.ts';
import { etagOf } from '../http/etag.ts';
import { exampleOf, present } from '../http/record.ts';
import { named, ofProject } from '../http/schemas.ts';
import type { OwnerProject } from '../access/caller.ts';
import { ConditionAnswer, FlatAnswer } from './condition-input.ts';

const filters = [{ field: 'data.plan', operator: 'equals', value: 'pro' }];

export const Segment = named('Segment', {
  id: z.uuid().meta({ examples: ['9d3f1c1e-8a53-4d3c-b0ff-6c1b6a3b7e01'] }),
  name: z.string().meta({ examples: ['Pro users'] }),
  description: z.string().nullable(),
  type: z.enum(['DYNAMIC', 'STATIC']),
  condition: ConditionAnswer.nullable().meta({
    examples: [{ logic: 'AND', groups: [{ filters }] }],
  }),
  filters: FlatAnswer.nullable().meta({
    description: 'The condition as a list, when it can be written so',
    examples: [{ operator: 'AND', conditions: filters }],
  }),
  trackMembership: z.boolean(),
  memberCount: z.int().meta({
    description: 'The last count; unsubscribed contacts are included',
    examples: [128],
  }),
  ...ofProject,
});

export function presentSegment(row: SegmentRow, { publicId: projectId }: OwnerProject) {
  return present(Segment, row, {
    projectId,
    filters: row.condition && conditionToFlat(row.condition),
  });
}

export function segmentTag(row: SegmentRow): string {
  const { name, description, condition, track_membership } = row;
  return etagOf({ name, description, condition, track_membership });
}

export const segmentExample = exampleOf(Segment);
