import { z } from 'zod';
import type { TemplateRow } from '../../db/templates/templates.ts';
import { etagOf } from '../http/etag.ts';
import { exampleOf, present } from '../http/record.ts';
import type { OwnerProject } from '../access/caller.ts';
import { named, ofProject } from '../http/schemas.ts';
import { TemplateType } from './input.ts';

export const Template = named('Template', {
  id: z.uuid().meta({ examples: ['5d0f1c2b-3a49-4e58-9d67-7c6b5a4f3e21'] }),
  name: z.string().meta({ examples: ['Welcome'] }),
  description: z.string().nullable(),
  subject: z.string().meta({ examples: ['Hi {{name ?? there}}'] }),
  body: z.string().meta({ examples: ['<p>Welcome!</p>'] }),
  type: TemplateType,
  from: z.string().nullable(),
  fromName: z.string().nullable(),
  replyTo: z.string().nullable(),
  topicId: z.uuid().optional().describe('Topic of marketing mail'),
  ...ofProject,
});

export function presentTemplate(row: TemplateRow, { publicId: projectId }: OwnerProject) {
  return present(Template, row, {
    projectId,
    from: row.from_email,
    topicId: row.topic_id ?? undefined,
  });
}

export function templateTag(row: TemplateRow): string {
  const { id: _, project_id: _p, created_at: _c, updated_at: _u, file_key: _f, ...editable } = row;
  return etagOf(editable);
}

export const templateExample = exampleOf(Template);
