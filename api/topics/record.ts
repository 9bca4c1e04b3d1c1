import { z } from 'zod';
import type { TopicRow } from '../../db/topics/topics.ts';
import { exampleOf, present } from '../http/record.ts';
import type { OwnerProject } from '../access/caller.ts';
import { named, ofProject } from '../http/schemas.ts';
import { Default, Visibility } from './input.ts';

export const Topic = named('Topic', {
  id: z.uuid().meta({ examples: ['7e100000-0000-4000-8000-000000000001'] }),
  key: z.string().meta({ examples: ['product-news'] }),
  name: z.string().meta({ examples: ['Product news'] }),
  description: z
    .string()
    .nullable()
    .meta({ examples: ['New features, once a month'] }),
  visibility: Visibility,
  default: Default.meta({ examples: ['unsubscribed'] }),
  ...ofProject,
});

export function presentTopic(row: TopicRow, { publicId: projectId }: OwnerProject) {
  const isDefault = row.by_default ? 'subscribed' : 'unsubscribed';
  return present(Topic, row, { projectId, default: isDefault });
}

export const topicExample = exampleOf(Topic);
