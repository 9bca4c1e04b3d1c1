import { z } from 'zod';
import { removeProject, resetProject } from '../../db/transactions/projects/delete-project.ts';
import { notFound } from '../../domain/errors.ts';
import { endpoint } from '../http/endpoint.ts';
import { ById } from '../http/schemas.ts';
import { transact } from '../../db/database.ts';

const Done = z.object({ success: z.literal(true), message: z.string() });

const deleteProject = endpoint({
  id: 'deleteProject',
  method: 'DELETE',
  path: '/users/@me/projects/{id}',
  summary: 'Delete a project with all that belongs to it',
  description:
    'The project and its keys stop working at once; its data are deleted in the background. ' +
    'This cannot be undone.',
  access: 'session',
  projectParam: 'id',
  role: 'ADMIN',
  fresh: true,
  params: ById,
  response: Done,
  example: { response: { success: true, message: 'The project is deleted.' } },
  async handle({ db, member: { projectId, project }, params, note }) {
    await transact(db, async (tx) => {
      // The event outlives the project, so it has the id in its `details`.
      const target = { type: 'project', id: project.publicId };
      const details = { projectId: project.publicId };
      await note({ event: 'project.deleted', target, details }, tx);
      if (!(await removeProject(tx, projectId))) throw notFound('PROJECT', params.id);
    });
    return { success: true as const, message: 'The project is deleted.' };
  },
});

const resetMyProject = endpoint({
  id: 'resetProject',
  method: 'POST',
  path: '/users/@me/projects/{id}/reset',
  summary: 'Empty a project; it keeps its settings, keys, domains, members and billing',
  description:
    'Contacts, campaigns, workflows, templates, segments, events and mail are gone at once; ' +
    'their rows are deleted in the background. This cannot be undone.',
  access: 'session',
  projectParam: 'id',
  role: 'ADMIN',
  fresh: true,
  params: ById,
  response: Done,
  example: { response: { success: true, message: 'The project is empty.' } },
  async handle({ db, member: { projectId }, params, note }) {
    await transact(db, async (tx) => {
      await note(
        { event: 'project.reset', projectId, target: { type: 'project', id: params.id } },
        tx,
      );
      if (!(await resetProject(tx, projectId))) throw notFound('PROJECT', params.id);
    });
    return { success: true as const, message: 'The project is empty.' };
  },
});

export const removalEndpoints = [deleteProject, resetMyProject];
