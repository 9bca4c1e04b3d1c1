import { z } from 'zod';
import {
  type MemberRow,
  type MemberStatus,
  deleteMember,
  findAdministrators,
  findMember,
  insertMember,
  listMembersAndInvited,
  lockMember,
  updateMemberRole,
} from '../../db/accounts/members.ts';
import { findProject, holdProject } from '../../db/projects/projects.ts';
import { findUserByEmail, insertUser, type UserRow } from '../../db/accounts/users.ts';
import { changesBetween } from '../access/changes.ts';
import { Problem, found, notFound } from '../../domain/errors.ts';
import { roles } from '../../domain/roles.ts';
import { requireNamingAdmins } from '../access/auth.ts';
import { actorOf } from '../access/caller.ts';
import type { SecurityLog } from '../access/security-log.ts';
import { providerInviting } from '../access/sign-in-ways.ts';
import type { Services } from '../services/services.ts';
import { Actor, readActors } from '../actors/actor.ts';
import { answer, endpoint } from '../http/endpoint.ts';
import { exampleOf, present } from '../http/record.ts';
import { Email, Time, Uuid, named, ById } from '../http/schemas.ts';
import { recordInvitation, recordMembersByKey } from '../accounts/mail.ts';
import { type Database, transact } from '../../db/database.ts';

const onNamingAdmins =
  'SESSION_REQUIRED: an API key cannot make a member an administrator, except the secret key of ' +
  'the pair if the owner has set `keysMayNameAdmins` of the project.';

const NewRole = z.enum(['ADMIN', 'MEMBER']);
const Member = named('Member', {
  userId: z.uuid().meta({ examples: ['f0000000-0000-4000-8000-000000000002'] }),
  email: z.string().meta({ examples: ['bob@shop.example'] }),
  role: z.enum(roles),
  status: z.enum(['active', 'invited']).meta({
    description:
      'An invited person is not a member and sees nothing of the project until they accept',
  }),
});
export const ListedMember = Member.extend({
  addedBy: Actor.nullable().describe('Who added or invited the user; null for the owner'),
  managedBy: z
    .string()
    .nullable()
    .describe('The identity provider whose rules have made the member; null: made by hand')
    .meta({ examples: [null] }),
  createdAt: Time,
});
const member = { ...exampleOf(Member), role: 'MEMBER' as const };

const listProjectMembers = endpoint({
  id: 'listMembers',
  method: 'GET',
  path: '/projects/{id}/members',
  summary: 'List the members of a project and invited users, the owner first',
  description: '`status` distinguishes members from invited users.',
  access: 'project',
  projectParam: 'id',
  wrapped: true,
  params: ById,
  response: z.array(ListedMember),
  example: { response: [exampleOf(ListedMember)] },
  async handle({ db, member: { projectId } }) {
    return presentMembers(db, await listMembersAndInvited(db, projectId));
  },
});

const addMember = endpoint({
  id: 'addMember',
  method: 'POST',
  path: '/projects/{id}/members',
  summary: 'Invite a member by email address; without account mail, add them at once',
  description:
    'The role is ADMIN or MEMBER. For ADMIN a session needs a recent login ' +
    '(REAUTHENTICATION_REQUIRED). USER_NOT_FOUND: no account has this address, and no identity ' +
    'provider makes accounts for users who are invited. ' +
    'MEMBER_EXISTS: the user is a member or invited already. Every administrator gets a mail ' +
    `if a secret key adds a member. ${onNamingAdmins}`,
  access: 'project',
  projectParam: 'id',
  role: 'ADMIN',
  rightsFor: ({ role }) => ({ namesAdmin: role === 'ADMIN' }),
  wrapped: true,
  status: 201,
  otherAnswers: [
    { status: 200, description: 'Added at once, because the server sends no account mail' },
  ],
  params: ById,
  body: z.object({ email: Email, role: NewRole.default('MEMBER') }),
  response: Member,
  problems: ['USER_NOT_FOUND', 'MEMBER_EXISTS', 'SESSION_REQUIRED'],
  example: { body: { email: member.email }, response: { ...member, status: 'invited' } },
  async handle({ db, config, member, params, body, note }) {
    const { projectId } = member;
    // Without mail, the server cannot send an invitation, so it adds users directly.
    const status: MemberStatus = config.platformFrom === null ? 'active' : 'invited';
    const user = await transact(db, async (tx) => {
      await holdProject(tx, projectId);
      const isByKey = member.session === null;
      const administrators = await findAdministrators(tx, projectId);
      const user = await findOrInviteUser({ config, note }, tx, { email: body.email, projectId });
      const added = { projectId, userId: user.id, role: body.role, status };
      const outcome = await insertMember(tx, { ...added, addedBy: actorOf(member), isByKey });
      if (outcome === 'missing') throw notFound('USER', body.email);
      if (outcome === 'exists') throw new Problem('MEMBER_EXISTS');
      const event = status === 'active' ? 'member.added' : 'member.invited';
      const details = { memberId: user.id, role: body.role };
      const target = { type: 'user', id: user.id };
      await note({ event, projectId, target, details }, tx);
      const project = found('PROJECT', params.id, await findProject(tx, projectId));
      const by = member.session?.email ?? null;
      await recordInvitation(tx, config, user, { project: project.name, by, role: body.role });
      if (!isByKey) return user;
      const change = status === 'active' ? 'added' : 'invited';
      const what = { project: project.name, member: user.email, change, role: body.role } as const;
      await recordMembersByKey(tx, config, administrators, what);
      return user;
    });
    const { id: userId, email } = user;
    return answer(
      { userId, email, role: body.role, status },
      { status: status === 'active' ? 200 : 201 },
    );
  },
});

const MemberPath = z.object({ id: Uuid, userId: Uuid });

const changeMember = endpoint({
  id: 'updateMember',
  method: 'PATCH',
  path: '/projects/{id}/members/{userId}',
  summary: 'Change the role of a member or invited user',
  description:
    "OWNER_PROTECTED: the owner's role cannot change. MEMBER_MANAGED: a rule of the sign-in " +
    'policy keeps the role; `details.provider` has its identity provider. Every administrator ' +
    `gets a mail about a change by a secret key. ${onNamingAdmins}`,
  access: 'project',
  projectParam: 'id',
  role: 'ADMIN',
  fresh: true,
  wrapped: true,
  params: MemberPath,
  body: z.object({ role: NewRole }),
  response: Member,
  problems: ['MEMBER_NOT_FOUND', 'OWNER_PROTECTED', 'MEMBER_MANAGED', 'SESSION_REQUIRED'],
  example: { body: { role: 'ADMIN' }, response: { ...member, role: 'ADMIN' } },
  async handle({ db, config, member, params, body: { role }, note }) {
    const { projectId } = member;
    return transact(db, async (tx) => {
      const row = changeable(params.userId, await lockMember(tx, projectId, params.userId));
      if (row.managed_by !== null) {
        throw new Problem('MEMBER_MANAGED', { details: { provider: row.managed_by } });
      }
      if (row.role === role) return present(Member, row);
      if (role === 'ADMIN') requireNamingAdmins(member);
      const isByKey = member.session === null;
      const administrators = await findAdministrators(tx, projectId);
      const isChanged = await updateMemberRole(tx, projectId, row.user_id, { role, isByKey });
      if (!isChanged) throw notFound('MEMBER', row.user_id);
      const target = { type: 'user', id: row.user_id };
      const changes = changesBetween({ role: row.role }, { role });
      const details = { memberId: row.user_id, role };
      await note({ event: 'member.role_changed', projectId, target, changes, details }, tx);
      if (isByKey) {
        const { name: project } = found('PROJECT', params.id, await findProject(tx, projectId));
        const what = { project, member: row.email, change: 'changed', role } as const;
        await recordMembersByKey(tx, config, administrators, what);
      }
      return present(Member, { ...row, role });
    });
  },
});

const removeMember = endpoint({
  id: 'removeMember',
  method: 'DELETE',
  path: '/projects/{id}/members/{userId}',
  summary: 'End a membership, or withdraw an invitation',
  description:
    'SELF_REMOVAL: leave the project instead. OWNER_PROTECTED: the owner cannot be removed. ' +
    'A rule of the sign-in policy can make the user a member again, at the next sign-in. ' +
    'Every administrator gets a mail about a removal by a secret key.',
  access: 'project',
  projectParam: 'id',
  role: 'ADMIN',
  wrapped: true,
  params: MemberPath,
  response: z.object({ message: z.string() }),
  problems: ['MEMBER_NOT_FOUND', 'OWNER_PROTECTED', 'SELF_REMOVAL'],
  example: { response: { message: 'The user is no longer a member.' } },
  async handle({ db, config, member: { projectId, userId, session }, params, note }) {
    const row = changeable(params.userId, await findMember(db, projectId, params.userId));
    if (row.user_id === userId) throw new Problem('SELF_REMOVAL');
    await transact(db, async (tx) => {
      // The administrators are read before the removal, so that a removed administrator also gets
      // the mail.
      const administrators = await findAdministrators(tx, projectId);
      const isRemoved = await deleteMember(tx, projectId, row.user_id);
      if (!isRemoved) throw notFound('MEMBER', row.user_id);
      const target = { type: 'user', id: row.user_id };
      const details = { memberId: row.user_id };
      await note({ event: 'member.removed', projectId, target, details }, tx);
      if (session) return;
      const { name: project } = found('PROJECT', params.id, await findProject(tx, projectId));
      const what = { project, member: row.email, change: 'removed', role: row.role } as const;
      await recordMembersByKey(tx, config, administrators, what);
    });
    return { message: 'The user is no longer a member.' };
  },
});

export const memberEndpoints = [listProjectMembers, addMember, changeMember, removeMember];

/**
 * Returns the account of an address. If there is none, and the OpenID provider of the address's
 * domain admits only invited users, an account is created. The user takes over the account at the
 * first sign-in through this provider.
 * @throws Problem USER_NOT_FOUND
 */
async function findOrInviteUser(
  { config, note }: Pick<Services, 'config'> & Pick<SecurityLog, 'note'>,
  tx: Database,
  { email, projectId }: { email: string; projectId: string },
): Promise<UserRow> {
  const known = await findUserByEmail(tx, email);
  if (known) return known;
  const provider = providerInviting(config, email)?.id;
  if (provider === undefined) throw notFound('USER', email);
  const made = await insertUser(tx, {
    email,
    emailVerified: false,
    type: 'OIDC',
    providerId: null,
    awaitedProvider: provider,
  });
  // If no account was created, a concurrent request has created it.
  if (!made) return found('USER', email, await findUserByEmail(tx, email));
  const target = { type: 'user', id: made.id };
  await note(
    { event: 'account.created', projectId, target, details: { by: 'OIDC', provider } },
    tx,
  );
  return made;
}

/**
 * Refuses to change the owner.
 * @throws Problem MEMBER_NOT_FOUND, OWNER_PROTECTED
 */
function changeable(memberId: string, member: MemberRow | undefined): MemberRow {
  const row = found('MEMBER', memberId, member);
  if (row.role === 'OWNER') throw new Problem('OWNER_PROTECTED');
  return row;
}

/** Presents members, with the names of the actors that added them. */
export async function presentMembers(db: Database, rows: readonly MemberRow[]) {
  const actor = await readActors(
    db,
    rows.map((row) => row.added_by),
  );
  return rows.map((row) => present(ListedMember, row, { addedBy: actor(row.added_by) }));
}
