import { z } from 'zod';
import { segmentFile, templateFile, topicFile } from '../../../domain/files/values.ts';
import { senderColumns } from '../../http/schemas.ts';
import { givenCondition, NewSegment } from '../../segments/input.ts';
import { TemplateInput } from '../../templates/input.ts';
import { NewTopic, refuseTopic } from '../../topics/input.ts';
import { immutable, type KindReader, problemsOf } from './kind-reader.ts';
import { SegmentFile, TemplateFile, TopicFile } from './schemas.ts';

/** Reads the files of topics, templates and segments. */

export const topicReader: KindReader<z.output<typeof NewTopic>> = {
  file: TopicFile,
  body: NewTopic,
  bodyOf: ({ key, value }) => ({ ...value, key, description: value['description'] ?? null }),
  checkStored(body, stored) {
    const before = stored?.value['default'];
    const isSame = before === undefined || before === body.default;
    return isSame ? [] : [immutable('default', 'topic', before)];
  },
  valueOf: ({ description = null, ...topic }) => topicFile({ ...topic, description }),
};

/** The body is checked once, with its position in the file, because that takes long. */
const CheckedTemplate = TemplateInput.extend({ body: z.string().min(1) });

export const templateReader: KindReader<z.output<typeof TemplateInput>> = {
  file: TemplateFile,
  body: CheckedTemplate,
  bodyOf({ value: { topic = null, ...value } }, references) {
    return {
      ...value,
      description: value['description'] ?? null,
      from: value['from'] ?? null,
      fromName: value['fromName'] ?? null,
      replyTo: value['replyTo'] ?? null,
      topicId: references.idOf('topics', topic, 'topicId'),
    };
  },
  check({ topicId, type }) {
    return problemsOf(() => type !== undefined && refuseTopic(topicId, type));
  },
  placeOf: (field) => field.replace(/^topicId$/, 'topic'),
  valueOf({ body, from, fromName, replyTo = null, topicId = null, ...template }, keys) {
    const sender = senderColumns(from ?? null, fromName);
    const content = {
      ...template,
      description: template.description ?? null,
      from: sender.fromEmail,
      fromName: sender.fromName ?? null,
      replyTo,
      topicId,
    };
    return { ...templateFile(content, keys), body };
  },
};

export const segmentReader: KindReader<z.output<typeof NewSegment>> = {
  file: SegmentFile,
  body: NewSegment,
  bodyOf({ value }, references) {
    const { condition = null, filters = null } = value;
    return {
      ...value,
      description: value['description'] ?? null,
      condition: references.condition(condition, 'condition'),
      filters: references.condition(filters, 'filters'),
    };
  },
  checkStored(body, stored) {
    const before = stored?.value['type'];
    return before === undefined || before === body.type
      ? []
      : [immutable('type', 'segment', before)];
  },
  valueOf(body, keys) {
    const { name, description = null, type, trackMembership } = body;
    const condition = givenCondition(body)?.condition ?? null;
    return segmentFile({ name, description, type, condition, trackMembership }, keys);
  },
};
