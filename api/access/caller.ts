import type { SecondFactor } from '../../db/accounts/sessions.ts';
import type { NamedKey } from '../../db/projects/key-lookup.ts';
import type { Role } from '../../domain/roles.ts';

/**
 * The callers that an endpoint accepts:
 * - `open`: anyone
 * - `either`: public or secret key, or a session with `X-Project-Id`
 * - `secret`: secret key, or a session with `X-Project-Id`
 * - `session`: only a session
 * - `project`: a secret key or a session; the path or the body names the project
 */
export type Access = 'open' | 'either' | 'secret' | 'session' | 'project';

export interface Project {
  /** Id of the project's row. */
  id: string;
  /** The id that the API shows. It differs from `id` after a reset of the project. */
  publicId: string;
  disabledReason: string | null;
  /** True if a public key can subscribe only contacts that have confirmed. */
  requiresConfirmation: boolean;
  /** True if the project's own secret key, unlike named keys, may make members administrators. */
  keysMayNameAdmins: boolean;
}

/**
 * The project that owns a record. The API shows the public id, because a reset project has another
 * row id.
 */
export type OwnerProject = Pick<Project, 'publicId'>;

/** The caller in a project: a key, or a member's session. */
export interface ProjectCaller {
  kind: 'project';
  projectId: string;
  project: Project;
  role: Role;
  /** null for a key. */
  userId: string | null;
  /** True for a public key, which anyone may have. */
  isPublic: boolean;
  /** The named key of the request; null: one of the project's own two keys, or a session. */
  key: NamedKey | null;
  /** The session of the request; null: the request has a key. */
  session: UserCaller | null;
}

export interface UserCaller {
  kind: 'user';
  userId: string;
  email: string;
  /** True if the email address is verified. Always true on a server without account mail. */
  emailVerified: boolean;
  /** The id of the session's row. */
  sessionId: string;
  /** True if the last sign-in was within `REAUTHENTICATION_MINUTES`. */
  isFresh: boolean;
  /**
   * The second factor that the session has proved; null: the session has proved no second factor.
   */
  secondFactor: SecondFactor | null;
  /**
   * The factors with which the user can prove who they are: `password`, `github`, `totp` and so on.
   */
  proofs: readonly string[];
}

export type Caller = ProjectCaller | UserCaller | null;

export type CallerOf<A extends Access> = A extends 'open'
  ? UserCaller | null
  : A extends 'session'
    ? UserCaller
    : A extends 'project'
      ? ProjectCaller | UserCaller
      : ProjectCaller;

/** Returns the caller of a request as a stored actor, `<type>:<id>`. */
export function actorOf(caller: ProjectCaller | UserCaller): string {
  if (caller.kind === 'user' || caller.userId !== null) return `user:${caller.userId}`;
  if (caller.key) return `key:${caller.key.id}`;
  return caller.isPublic ? 'key:public' : 'key:secret';
}
