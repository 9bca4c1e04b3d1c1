import type { Context } from 'koa';
import type { Config } from '../../config.ts';
import { Problem } from '../../domain/errors.ts';
import { isUuid } from '../../domain/ids.ts';
import { findMembership, type Membership } from '../../db/projects/projects.ts';
import {
  findSessionUser as findUser,
  type SessionUser,
  updateSessionSeen,
} from '../../db/accounts/sessions.ts';
import type { Services } from '../services/services.ts';
import type { Access, Caller, Project, ProjectCaller, UserCaller } from './caller.ts';
import { keyCaller } from './keys.ts';
import { clientOf, hasSessionCookie, readSession } from './session.ts';

/**
 * Returns the caller of a request.
 * @throws Problem MISSING_AUTH, INVALID_API_KEY, KEY_RESTRICTED, UNAUTHORIZED, ORIGIN_NOT_ALLOWED,
 * PROJECT_ID_REQUIRED, PROJECT_ACCESS_DENIED, EMAIL_VERIFICATION_REQUIRED.
 */
export async function findCaller(
  ctx: Context,
  access: Access,
  services: Services,
): Promise<Caller> {
  const authorization = ctx.get('authorization');
  if (access === 'open') return null;
  if (access !== 'session') {
    if (authorization !== '') return keyCaller(ctx, access, services);
    if (!hasSessionCookie((name) => ctx.cookies.get(name), services.config)) {
      throw new Problem('MISSING_AUTH');
    }
  }
  const user = await sessionCaller(ctx, services);
  if (access === 'session' || access === 'project') return user;
  return memberCaller(ctx.get('x-project-id'), user, services);
}

async function sessionCaller(ctx: Context, services: Services): Promise<UserCaller> {
  const user = await findSessionUser(ctx, services);
  if (!user) throw new Problem('UNAUTHORIZED');
  return user;
}

/**
 * Returns the user of a valid session cookie; null: the request has no such cookie.
 * @throws Problem ORIGIN_NOT_ALLOWED when another site makes the browser send the cookie.
 */
export async function findSessionUser(
  ctx: Context,
  services: Services,
): Promise<UserCaller | null> {
  const { db, config } = services;
  const session = await readSession((name) => ctx.cookies.get(name), config);
  const user = session ? await findUser(db, session) : undefined;
  if (!user || !session) return null;
  refuseForeignOrigin(ctx, services);
  if (user.isUnseen) await updateSessionSeen(db, session.id, clientOf(ctx));
  const { reauthenticationMinutes: minutes } = config;
  return {
    kind: 'user',
    userId: user.id,
    email: user.email,
    // Addresses count as verified on a server that sends no account mail, so that unverified users
    // are not locked out.
    emailVerified: user.emailVerified || config.platformFrom === null,
    sessionId: session.id,
    isFresh: minutes === 0 || user.provedAgo <= minutes * 60,
    secondFactor: user.secondFactor,
    proofs: proofsOf(user, config),
  };
}

/** Lists the factors with which a user can prove who they are. */
function proofsOf(
  { type, providers, factorTypes }: SessionUser,
  { oidc }: Pick<Config, 'oidc'>,
): string[] {
  const linked = oidc.filter(({ id }) => providers.includes(id)).map(({ id }) => `oidc:${id}`);
  return [firstProofs[type], ...linked, ...factorTypes].flatMap((proof) => proof ?? []);
}

/** The first factor of an account, by its type. */
const firstProofs: Readonly<Record<string, string>> = {
  PASSWORD: 'password',
  GITHUB_OAUTH: 'github',
  GOOGLE_OAUTH: 'google',
};

/**
 * Prevents other sites from using a visitor's cookie (CSRF). With every cross-site write, a browser
 * sends the origin or `Sec-Fetch-Site`. So a request without both is not from another site.
 */
function refuseForeignOrigin(ctx: Context, { config }: Services): void {
  const reads = ctx.method === 'GET' || ctx.method === 'HEAD';
  const site = ctx.get('sec-fetch-site').toLowerCase();
  const origin = ctx.get('origin') || originOf(ctx.get('referer'));
  // The console may be opened under any host name of the server. A page of another site never has
  // the origin of the host that receives its request.
  const own = `${ctx.protocol}://${ctx.host}`;
  const ours = [originOf(config.dashboardUrl), originOf(config.apiUrl), own];
  if (reads) {
    // The router accepts paths in any case and with a trailing slash.
    const logsOut = /^\/auth\/logout\/?$/i.test(ctx.path);
    // `none`: the user has typed the address. Clients other than browsers, and pages with http, do
    // not send the header `Sec-Fetch-Site`.
    const isOwn = ['', 'same-origin', 'none'].includes(site);
    // The dashboard may have another host or port on the same site.
    const isDashboard = site === 'same-site' && origin !== '' && ours.includes(origin);
    if (logsOut && !isOwn && !isDashboard) throw foreignOrigin(origin);
    return;
  }
  const foreign = origin === '' ? site === 'cross-site' : !ours.includes(origin);
  if (foreign) throw foreignOrigin(origin);
}

function foreignOrigin(origin: string): Problem {
  const from = origin === '' ? 'another site' : `the origin ${origin}`;
  return new Problem('ORIGIN_NOT_ALLOWED', { message: `Requests from ${from} are not allowed.` });
}

async function memberCaller(
  projectId: string,
  user: UserCaller,
  { db }: Services,
): Promise<ProjectCaller> {
  if (!isUuid(projectId)) throw new Problem('PROJECT_ID_REQUIRED');
  const membership = await findMembership(db, projectId, user.userId);
  if (!membership) throw new Problem('PROJECT_ACCESS_DENIED');
  requireVerified(user);
  return member(membership, user);
}

/**
 * Returns the caller of a member's session.
 * @throws Problem SECOND_FACTOR_REQUIRED when the project requires a second factor that the session
 * lacks.
 */
function member(
  { project, role, requiresSecondFactor }: Membership,
  user: UserCaller,
): ProjectCaller {
  if (requiresSecondFactor && user.secondFactor === null) throw lackingFactor(user);
  return {
    kind: 'project',
    projectId: project.id,
    project,
    role,
    userId: user.userId,
    isPublic: false,
    key: null,
    session: user,
  };
}

/** Returns the refusal of a session without a second factor. */
export function lackingFactor({ proofs }: UserCaller): Problem {
  const enrolled = proofs.includes('totp') || proofs.includes('passkey');
  return new Problem('SECOND_FACTOR_REQUIRED', { details: { enrolled } });
}

/**
 * Requires a verified email address.
 * @throws Problem EMAIL_VERIFICATION_REQUIRED
 */
export function requireVerified(user: UserCaller): void {
  if (!user.emailVerified) throw new Problem('EMAIL_VERIFICATION_REQUIRED');
}

/**
 * Protects irreversible actions from a stolen or abandoned session: the last login must be recent.
 * @throws Problem REAUTHENTICATION_REQUIRED
 */
export function requireFresh(caller: ProjectCaller | UserCaller): void {
  const session = caller.kind === 'user' ? caller : caller.session;
  if (!session || session.isFresh) return;
  throw new Problem('REAUTHENTICATION_REQUIRED', { details: { methods: session.proofs } });
}

/**
 * Returns the caller as a member of a project, or null for non-members. Use `projectId` of the
 * result as the id of the row. The given id may be the public id, which differs from the row id
 * after a reset.
 * @throws Problem EMAIL_VERIFICATION_REQUIRED
 */
export async function findMember(
  db: Services['db'],
  caller: ProjectCaller | UserCaller,
  projectId: string,
): Promise<ProjectCaller | null> {
  if (caller.kind === 'project') {
    return [caller.projectId, caller.project.publicId].includes(projectId) ? caller : null;
  }
  const membership = await findMembership(db, projectId, caller.userId);
  if (!membership) return null;
  requireVerified(caller);
  return member(membership, caller);
}

/** The rights in a project that a request needs. */
export interface Rights {
  /** The required role; by default any. Keys count as ADMIN. */
  role?: 'ADMIN' | 'OWNER';
  /** True: the last sign-in must be recent. See `requireFresh`. */
  fresh?: boolean;
  /** True: the request makes a user an administrator. See `requireNamingAdmins`. */
  namesAdmin?: boolean;
}

/** The rights that an endpoint's declaration requires of members. */
export interface ProjectNeeds extends Rights {
  method: string;
  /** True: the endpoint may write to a disabled project, too. */
  whileDisabled?: boolean;
  /** Returns further rights that depend on the body. The body is not validated yet. */
  rightsFor?: (body: Record<string, unknown>) => Rights;
}

/**
 * Refuses members without the rights that an endpoint requires in their project.
 * @param body of the request, not validated; undefined: not read yet.
 * @throws Problem PROJECT_DISABLED, INSUFFICIENT_ROLE, SESSION_REQUIRED, REAUTHENTICATION_REQUIRED.
 */
export function requireRights(
  needs: ProjectNeeds,
  caller: ProjectCaller | UserCaller,
  member: ProjectCaller,
  body?: unknown,
): void {
  if (writes(needs)) refuseDisabled(member.project);
  const { role, fresh, namesAdmin }: Rights = { ...needs, ...needs.rightsFor?.(fieldsOf(body)) };
  if (role) requireRole(member, role);
  if (namesAdmin) requireNamingAdmins(member);
  if (fresh || namesAdmin) requireFresh(caller);
}

function requireRole({ role }: ProjectCaller, needed: 'ADMIN' | 'OWNER'): void {
  if (role === 'OWNER' || role === needed) return;
  if (needed === 'ADMIN') throw new Problem('INSUFFICIENT_ROLE');
  throw new Problem('INSUFFICIENT_ROLE', {
    message: 'This request needs the role OWNER.',
    suggestion: 'Ask the owner of the project to do it.',
  });
}

/**
 * Refuses API keys that make an administrator. Otherwise the thief of a key could become an
 * administrator, and stay one after the key is replaced. Only the project's own secret key is
 * accepted, if the owner allows this.
 * @throws Problem SESSION_REQUIRED
 */
export function requireNamingAdmins({ session, key, project }: ProjectCaller): void {
  if (session || (!key && project.keysMayNameAdmins)) return;
  throw new Problem('SESSION_REQUIRED');
}

/** Returns the fields of a body that is not validated; none if the body is no object. */
export function fieldsOf(body: unknown): Record<string, unknown> {
  return typeof body === 'object' && body !== null ? (body as Record<string, unknown>) : {};
}

/** Returns true if a disabled project refuses this endpoint. */
export function writes({ method, whileDisabled }: ProjectNeeds): boolean {
  return method !== 'GET' && !whileDisabled;
}

/**
 * Refuses writes to a disabled project.
 * @throws Problem PROJECT_DISABLED
 */
export function refuseDisabled(project: Pick<Project, 'disabledReason'>): void {
  if (project.disabledReason === null) return;
  throw new Problem('PROJECT_DISABLED', { details: { reason: project.disabledReason } });
}

function originOf(url: string): string {
  return URL.canParse(url) ? new URL(url).origin : '';
}
