import type { SecondFactor } from '../../db/accounts/sessions.ts';
import type { NamedKey } from '../../db/projects/key-lookup.ts';
import type { Role } from '../../domain/roles.ts';

/**
 * Who may call an endpoint:
 * - `open`: anyone
 * - `either`: public or secret key, or a session with `X-Project-Id`
 * - `secret`: secret key, or a session with `X-Project-Id`
 * - `session`: only a session
 * - `project`: a secret key or a session; the path or the body names the project
 */
export type Access = 'open' | 'either' | 'secret' | 'session' | 'project';

export interface Project {
  /** The id that the rows of the project have. */
  id: string;
  /** The id that the API shows. It differs from `id` after a reset. */
  publicId: string;
  disabledReason: string | null;
  /** True if a public key can subscribe only contacts that have confirmed. */
  requiresConfirmation: boolean;
  /** True if the project's own secret key, which is no named key, may make members administrators. */
  keysMayNameAdmins: boolean;
}

/**
 * The project of a record. The API shows its public id, which the rows of a reset project do not
 * have.
 */
export type OwnerProject = Pick<Project, 'publicId'>;

/** A call inside one project, by key or by a member's session. */
export interface ProjectCaller {
  kind: 'project';
  projectId: string;
  project: Project;
  role: Role;
  /** null for a key. */
  userId: string | null;
  /** True for a public key, which anyone may have. */
  isPublic: boolean;
  /** The named key of the request; null: a key of the project's pair, or a session. */
  key: NamedKey | null;
  /** The session of the request; null: the request has a key. */
  session: UserCaller | null;
}

export interface UserCaller {
  kind: 'user';
  userId: string;
  email: string;
  /** Also true on a server without account mail, where addresses count as verified. */
  emailVerified: boolean;
  /** The id of the session's row. */
  sessionId: string;
  /** True if the user has proved who they are within `REAUTHENTICATION_MINUTES`. */
  isFresh: boolean;
  /** The second proof of the session; null: it has none. */
  secondFactor: SecondFactor | null;
  /** The ways in which the user can prove who they are: `password`, `github`, `totp` and so on. */
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

/** Returns the caller of a request in the form that is stored. */
export function actorOf(caller: ProjectCaller | UserCaller): string {
  if (caller.kind === 'user' || caller.userId !== null) return `user:${caller.userId}`;
  if (caller.key) return `key:${caller.key.id}`;
  return caller.isPublic ? 'key:public' : 'key:secret';
}
