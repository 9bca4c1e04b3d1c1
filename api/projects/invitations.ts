import { z } from 'zod';
import {
  acceptInvitation,
  findInvitation,
  listInvitations,
} from '../../db/accounts/invitations.ts';
import { deleteMember } from '../../db/accounts/members.ts';
import { findMembership, findProject, holdProject } from '../../db/projects/projects.ts';
import { Problem, found, notFound } from '../../domain/errors.ts';
import { refuseDisabled, requireVerified } from '../access/auth.ts';
import { endpoint } from '../http/endpoint.ts';
import { Time, Uuid, named, time, ById } from '../http/schemas.ts';
import { Project, presentProject, project } from './record.ts';
import { transact } from '../../db/database.ts';

/** Actions of users on their own memberships: accept an invitation, decline it, leave a project. */

const Invitation = named('Invitation', {
  projectId: z.uuid(),
  projectName: z.string(),
  role: z.enum(['ADMIN', 'MEMBER']),
  createdAt: Time,
});

const listMyInvitations = endpoint({
  id: 'listMyInvitations',
  method: 'GET',
  path: '/users/@me/invitations',
  summary: 'List the projects the logged-in user is invited to, the newest invitation first',
  description: 'A project is not visible before its invitation is accepted.',
  access: 'session',
  response: z.array(Invitation),
  example: {
    response: [
      {
        projectId: project.id,
        projectName: project.name,
        role: 'MEMBER',
        createdAt: '2026-11-20T10:00:00.000Z',
      },
    ],
  },
  async handle({ db, caller }) {
    const rows = await listInvitations(db, caller.userId);
    return rows.map(({ publicId, projectName, role, createdAt }) => ({
      projectId: publicId,
      projectName,
      role: role as 'ADMIN' | 'MEMBER',
      createdAt: time(createdAt),
    }));
  },
});

const acceptMyInvitation = endpoint({
  id: 'acceptInvitation',
  method: 'POST',
  path: '/users/@me/invitations/{projectId}/accept',
  summary: 'Become a member of a project the logged-in user is invited to',
  description:
    'PROJECT_NOT_FOUND: the user is not invited to it. EMAIL_VERIFICATION_REQUIRED: verify ' +
    'your address first.',
  access: 'session',
  params: z.object({ projectId: Uuid }),
  response: Project,
  problems: ['PROJECT_NOT_FOUND', 'EMAIL_VERIFICATION_REQUIRED', 'PROJECT_DISABLED'],
  example: { response: { ...project, role: 'MEMBER', webhookSigningSecret: null } },
  async handle({ db, cipher, caller, params, note }) {
    const { userId } = caller;
    const invitation = found(
      'PROJECT',
      params.projectId,
      await findInvitation(db, params.projectId, userId),
    );
    requireVerified(caller);
    refuseDisabled(invitation);
    const { projectId } = invitation;
    const row = await transact(db, async (tx) => {
      await holdProject(tx, projectId);
      const role = await acceptInvitation(tx, projectId, userId);
      if (!role) throw notFound('PROJECT', params.projectId);
      const target = { type: 'user', id: userId };
      await note({ event: 'member.joined', projectId, target, details: { role } }, tx);
      return { ...found('PROJECT', params.projectId, await findProject(tx, projectId)), role };
    });
    return presentProject(row, cipher, { session: caller });
  },
});

const leaveProject = endpoint({
  id: 'leaveProject',
  method: 'DELETE',
  path: '/users/@me/projects/{id}/membership',
  summary: 'Leave a project, or decline the invitation to it',
  description:
    'OWNER_PROTECTED: the owner can only delete the project. PROJECT_NOT_FOUND: the user is ' +
    'neither a member nor invited.',
  access: 'session',
  params: ById,
  response: z.object({ success: z.literal(true), message: z.string() }),
  problems: [
    'PROJECT_NOT_FOUND',
    'EMAIL_VERIFICATION_REQUIRED',
    'PROJECT_DISABLED',
    'OWNER_PROTECTED',
  ],
  example: { response: { success: true, message: 'You are no longer a member.' } },
  async handle({ db, caller, params: { id }, note }) {
    const { userId } = caller;
    const membership = await findMembership(db, id, userId);
    // An invited user is no member yet, and can decline even while the project is disabled.
    const projectId =
      membership?.project.id ??
      found('PROJECT', id, await findInvitation(db, id, userId)).projectId;
    requireVerified(caller);
    if (membership) refuseDisabled(membership.project);
    if (membership?.role === 'OWNER') throw new Problem('OWNER_PROTECTED');
    await transact(db, async (tx) => {
      if (!(await deleteMember(tx, projectId, userId))) throw notFound('PROJECT', id);
      const event = membership ? 'member.left' : 'member.declined';
      await note({ event, projectId, target: { type: 'user', id: userId } }, tx);
    });
    const message = membership ? 'You are no longer a member.' : 'The invitation is declined.';
    return { success: true as const, message };
  },
});

export const invitationEndpoints = [listMyInvitations, acceptMyInvitation, leaveProject];
