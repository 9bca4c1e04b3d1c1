import { z } from 'zod';
import type { SegmentRow } from '../../db/segments/segments.ts';
import { conditionToFlat } from '../../domain/filter/forms.ts';
import { ConditionAnswer, FlatAnswer } from './conditions.ts';
import { Time, time, Uuid } from '../http/schemas.ts';

/** The record of a segment as the API answers it. */

export const tag = 'Segments';

export const SegmentById = z.object({ id: Uuid });

export const Segment = z.object({
  id: z.uuid(),
  name: z.string(),
  description: z.string().nullable(),
  type: z.enum(['DYNAMIC', 'STATIC']),
  condition: ConditionAnswer.nullable(),
  filters: FlatAnswer.nullable().describe('The condition as a list, when it can be written so'),
  trackMembership: z.boolean(),
  memberCount: z.int().describe('As counted last; unsubscribed contacts count, too'),
  projectId: z.uuid(),
  createdAt: Time,
  updatedAt: Time,
});

export function presentSegment(row: SegmentRow): z.input<typeof Segment> {
  return {
    id: row.id,
    name: row.name,
    description: row.description,
    type: row.type,
    condition: row.condition,
    filters: row.condition && conditionToFlat(row.condition),
    trackMembership: row.track_membership,
    memberCount: row.member_count,
    projectId: row.project_id,
    createdAt: time(row.created_at),
    updatedAt: time(row.updated_at),
  };
}

export const segmentExample = {
  id: '9d3f1c1e-8a53-4d3c-b0ff-6c1b6a3b7e01',
  name: 'Pro users',
  description: null,
  type: 'DYNAMIC',
  condition: {
    logic: 'AND',
    groups: [{ filters: [{ field: 'data.plan', operator: 'equals', value: 'pro' }] }],
  },
  filters: {
    operator: 'AND',
    conditions: [{ field: 'data.plan', operator: 'equals', value: 'pro' }],
  },
  trackMembership: false,
  memberCount: 128,
  projectId: '0e9b6f0c-52a8-4b5c-8a51-0f3f6b9d2c01',
  createdAt: '2026-11-20T10:00:00.000Z',
  updatedAt: '2026-11-20T10:00:00.000Z',
} as const;
