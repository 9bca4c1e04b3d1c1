import { z } from 'zod';
import { fileKeyPattern } from '../../../domain/files/kinds.ts';
import { conditionInputs, NewSegment } from '../../segments/input.ts';
import { TemplateInput } from '../../templates/input.ts';
import { NewTopic } from '../../topics/input.ts';

/**
 * The fields of files: those of the requests that create the objects, with keys in place of ids.
 * They say which fields a file can have; the values are checked by the schema of the request.
 */

const Key = z
  .string()
  .regex(
    fileKeyPattern,
    'Must be 1 to 50 of the characters a-z, 0-9, _ and -, and begin with a letter or digit.',
  );

const RenamedFrom = Key.optional().describe(
  'The former key of the object. Where no object has the key of this file, the object with the former key gets it and keeps its id',
);

export const TopicFile = NewTopic.omit({ key: true });

export const TemplateFile = TemplateInput.omit({ topicId: true }).extend({
  topic: Key.nullish().describe('Key of the topic of marketing mail'),
  renamedFrom: RenamedFrom,
});

export const SegmentFile = z.object({
  ...NewSegment.shape,
  ...conditionInputs,
  renamedFrom: RenamedFrom,
});
