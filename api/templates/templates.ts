import { z } from 'zod';
import { holdProject } from '../../db/projects/projects.ts';
import {
  findTemplate,
  insertTemplate,
  lockTemplate,
  listTemplates as listTemplateRows,
  readTemplates,
} from '../../db/templates/templates.ts';
import { transact } from '../../db/database.ts';
import { changesBetween, targetOf } from '../access/changes.ts';
import { found, invalidField, together } from '../../domain/errors.ts';
import { limits } from '../../domain/limits.ts';
import { compileTemplate } from '../../domain/template/render.ts';
import type { TemplateRenderer } from '../../providers/rendering/renderer.ts';
import { type Call, endpoint } from '../http/endpoint.ts';
import { requireMatch, tagged } from '../http/etag.ts';
import {
  deleteUnusedTemplates,
  refuseTemplateChange,
  requireOwnTemplates,
  storeNewTemplate,
  storeTemplate,
} from './changes.ts';
import { TemplateChange, TemplateInput, TemplateType } from './input.ts';
import {
  BulkUpdate,
  BulkUpdated,
  answerList,
  bulkUpdate,
  bulkUpdateExample,
  copyName,
  pageExample,
  pageOf,
  pageQuery,
  presentPage,
  ById,
} from '../http/schemas.ts';
import { previewStoredTemplate, previewTemplate } from './preview.ts';
import { Template, presentTemplate, templateExample, templateTag } from './record.ts';
import { getTemplateUsage } from './usage.ts';
import { getTemplateStats, listTemplateRecipients } from './mail.ts';
import { refuseTopic } from '../topics/input.ts';
import { keptTopic, requireTopics } from '../topics/references.ts';

/**
 * Checks the syntax of a body that is slow to parse, which the schema has not checked.
 * @throws Problem VALIDATION_ERROR
 */
export async function requireReadable(
  renderer: TemplateRenderer,
  { body }: { body?: string | undefined },
  projectId: string,
  field = 'body',
): Promise<void> {
  if (body === undefined || compileTemplate(body).isQuicklyRead) return;
  const checked = await renderer.check(body, projectId);
  if (!checked.ok) throw invalidField(field, 'invalid_template', checked.message);
}

const listTemplates = endpoint({
  id: 'listTemplates',
  method: 'GET',
  path: '/templates',
  summary: 'List the templates',
  description: 'A page list of at most 100 templates a page, by default 20.',
  access: 'secret',
  query: pageQuery(['createdAt', 'name', 'updatedAt']).extend({
    search: z.string().optional().describe('Part of name, description or subject, in any case'),
    type: TemplateType.optional(),
  }),
  response: pageOf(Template),
  example: { response: pageExample(templateExample) },
  async handle({ db, caller, query }) {
    const { rows, total } = await listTemplateRows(db, caller.projectId, query);
    return answerList(
      rows,
      (ids) => readTemplates(db, ids),
      (items) =>
        presentPage(
          items.map((row) => presentTemplate(row, caller.project)),
          total,
          query,
        ),
    );
  },
});

export const createTemplate = endpoint({
  id: 'createTemplate',
  method: 'POST',
  path: '/templates',
  summary: 'Create a template',
  description:
    'Subject and body are Liquid; invalid text is refused with the field code ' +
    "`invalid_template`. DOMAIN_NOT_REGISTERED, DOMAIN_NOT_VERIFIED: the sender's domain " +
    'must be a verified one of this project.',
  access: 'secret',
  bodyBytesMax: limits.contentBodyBytes,
  status: 201,
  body: TemplateInput,
  response: Template,
  problems: ['DOMAIN_NOT_REGISTERED', 'DOMAIN_NOT_VERIFIED', 'TOPIC_NOT_FOUND'],
  example: {
    body: {
      name: 'Welcome',
      subject: 'Hi {{name ?? there}}',
      body: '<p>Welcome!</p>',
      type: 'TRANSACTIONAL',
    },
    response: templateExample,
  },
  async check({ renderer, caller: { projectId }, body }) {
    await together(
      () => body.type && refuseTopic(body.topicId, body.type),
      () => requireReadable(renderer, body, projectId),
    );
  },
  async handle({ db, caller: { projectId, project }, body, note }) {
    const row = await transact(db, async (tx) => {
      const made = await storeNewTemplate(tx, projectId, body);
      const target = { type: 'template', id: made.id };
      await note({ event: 'template.created', projectId, target }, tx);
      return made;
    });
    return presentTemplate(row, project);
  },
});

const getTemplate = endpoint({
  id: 'getTemplate',
  method: 'GET',
  path: '/templates/{id}',
  summary: 'Get one template',
  description: 'TEMPLATE_NOT_FOUND: there is no such template in the project.',
  access: 'secret',
  params: ById,
  hasEtag: true,
  response: Template,
  problems: ['TEMPLATE_NOT_FOUND'],
  example: { response: templateExample },
  async handle({ db, caller, params: { id } }) {
    const row = found('TEMPLATE', id, await findTemplate(db, caller.projectId, id));
    return tagged(presentTemplate(row, caller.project), templateTag(row));
  },
});

export const updateTemplate = endpoint({
  id: 'updateTemplate',
  method: 'PATCH',
  path: '/templates/{id}',
  summary: 'Change a template',
  description:
    'Fields that are left out keep their value. DOMAIN_NOT_REGISTERED, DOMAIN_NOT_VERIFIED: ' +
    'a new sender needs a verified domain of this project.',
  access: 'secret',
  bodyBytesMax: limits.contentBodyBytes,
  params: ById,
  hasEtag: true,
  body: TemplateChange,
  response: Template,
  problems: [
    'TEMPLATE_NOT_FOUND',
    'DOMAIN_NOT_REGISTERED',
    'DOMAIN_NOT_VERIFIED',
    'TOPIC_NOT_FOUND',
  ],
  example: {
    body: { subject: 'Welcome, {{name ?? friend}}' },
    response: { ...templateExample, subject: 'Welcome, {{name ?? friend}}' },
  },
  async check({ db, renderer, caller: { projectId }, params: { id }, body }) {
    const stored = found('TEMPLATE', id, await findTemplate(db, projectId, id));
    await together(
      () => requireReadable(renderer, body, projectId),
      () => refuseTemplateChange(db, stored, body),
    );
  },
  async handle({ db, caller: { projectId, project }, params: { id }, body, note, request }) {
    return transact(db, async (tx) => {
      const before = found('TEMPLATE', id, await lockTemplate(tx, projectId, id));
      await refuseTemplateChange(tx, before, body);
      await requireTopics(tx, projectId, [body.topicId]);
      requireMatch(request, templateTag(before));
      const after = await storeTemplate(tx, before, body);
      const former = presentTemplate(before, project);
      if (after === before) return tagged(former, templateTag(before));
      const shown = presentTemplate(after, project);
      await note(
        {
          event: 'template.changed',
          projectId,
          target: { type: 'template', id },
          changes: changesBetween(former, shown, { fields: Object.keys(body) }),
        },
        tx,
      );
      return tagged(shown, templateTag(after));
    });
  },
});

export const deleteTemplate = endpoint({
  id: 'deleteTemplate',
  method: 'DELETE',
  path: '/templates/{id}',
  summary: 'Delete a template',
  description:
    'Mail that was sent with it stays. TEMPLATE_IN_USE: `details.workflowSteps` lists the ' +
    'steps that use it, `details.campaigns` the campaigns that have not ended and use it in an ' +
    'experiment; `consentPolicy: true`: the confirmation mail uses it.',
  access: 'secret',
  status: 204,
  params: ById,
  response: z.void(),
  problems: ['TEMPLATE_NOT_FOUND', 'TEMPLATE_IN_USE'],
  async handle(call) {
    await removeTemplates(call, [call.params.id]);
  },
});

export const duplicateTemplate = endpoint({
  id: 'duplicateTemplate',
  method: 'POST',
  path: '/templates/{id}/duplicate',
  summary: 'Copy a template',
  description: 'The copy has `(Copy)` after its name.',
  access: 'secret',
  bodyBytesMax: limits.contentBodyBytes,
  status: 201,
  params: ById,
  response: Template,
  problems: ['TEMPLATE_NOT_FOUND'],
  example: { response: { ...templateExample, name: copyName(templateExample.name) } },
  async handle({ db, caller: { projectId, project }, params: { id }, note }) {
    const original = found('TEMPLATE', id, await findTemplate(db, projectId, id));
    const { id: _, created_at: _c, updated_at: _u, file_key: _f, ...values } = original;
    const copy = await transact(db, async (tx) => {
      await holdProject(tx, projectId);
      const topicId = await keptTopic(tx, projectId, values.topic_id);
      const name = copyName(original.name);
      const made = await insertTemplate(tx, { ...values, topic_id: topicId, name });
      const target = { type: 'template', id: made.id };
      await note({ event: 'template.created', projectId, target, details: { copyOf: id } }, tx);
      return made;
    });
    return presentTemplate(copy, project);
  },
});

export const bulkUpdateTemplates = endpoint({
  id: 'bulkUpdateTemplates',
  method: 'POST',
  path: '/templates/bulk-update',
  summary: 'Delete many templates: all of them or none',
  description:
    '1 to 1,000 ids. Without `delete: true` nothing is changed, and `updated` is 0. ' +
    'TEMPLATE_NOT_FOUND names the first unknown one; TEMPLATE_IN_USE lists the steps and ' +
    'experiments that use any of them.',
  access: 'secret',
  bodyBytesMax: limits.contentBodyBytes,
  body: BulkUpdate,
  response: BulkUpdated,
  problems: ['TEMPLATE_NOT_FOUND', 'TEMPLATE_IN_USE'],
  example: bulkUpdateExample,
  async handle(call) {
    return bulkUpdate(call.body, (ids, options) => removeTemplates(call, ids, options));
  },
});

/**
 * Deletes all these templates, or none of them.
 * @param options.delete false: only checks that all templates exist.
 * @throws Problem TEMPLATE_NOT_FOUND; TEMPLATE_IN_USE with all uses of any of them.
 */
async function removeTemplates(
  {
    db,
    note,
    caller: { projectId },
  }: Pick<Call<'secret', unknown, unknown, unknown>, 'db' | 'note' | 'caller'>,
  ids: readonly string[],
  options = { delete: true },
): Promise<void> {
  await transact(db, async (tx) => {
    await (options.delete ? deleteUnusedTemplates : requireOwnTemplates)(tx, projectId, ids);
    if (!options.delete) return;
    const of = targetOf('template', ids);
    await note({ event: 'template.deleted', projectId, ...of }, tx);
  });
}

export const templateEndpoints = [
  listTemplates,
  createTemplate,
  getTemplate,
  updateTemplate,
  deleteTemplate,
  duplicateTemplate,
  getTemplateUsage,
  getTemplateStats,
  listTemplateRecipients,
  bulkUpdateTemplates,
  previewTemplate,
  previewStoredTemplate,
];
