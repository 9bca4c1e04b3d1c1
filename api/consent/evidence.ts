import type { Evidence } from '../../db/consent/log.ts';
import { actorOf, type ProjectCaller } from '../access/caller.ts';
import type { Call } from '../http/endpoint.ts';

/** The evidence in the consent log: who made a change, and how. */

type Request = Pick<Call<'open', unknown, unknown, unknown>['request'], 'ip' | 'header'>;

/** Maximum number of characters of a user agent that are stored. */
const userAgentMax = 500;

/** A customer's evidence of a person's consent. */
export interface Proof {
  text?: string | undefined;
  ip?: string | undefined;
  userAgent?: string | undefined;
}

/**
 * Returns the evidence of a change by key or session. A request with a public key comes from the
 * person's own browser or app. So the IP address and user agent of the request are stored, and
 * those in `proof` are ignored. Any other request comes from the customer's server, so the person's
 * IP address and user agent are known only from `proof`.
 */
export function evidenceOf(
  caller: ProjectCaller,
  request: Request,
  proof: Proof | undefined = {},
): Evidence {
  const actor = actorOf(caller);
  const text = proof.text ?? null;
  if (caller.isPublic) return { ...connectionOf(request), actor, text };
  return { actor, ip: proof.ip ?? null, userAgent: proof.userAgent ?? null, text };
}

/**
 * Returns the evidence of a visitor's action on a page, or of a one-click action in a mail program.
 */
export function evidenceOfVisitor(request: Request, text: string | null): Evidence {
  return { ...connectionOf(request), actor: null, text };
}

function connectionOf({ ip, header }: Request): Pick<Evidence, 'ip' | 'userAgent'> {
  return { ip, userAgent: header('user-agent').slice(0, userAgentMax) || null };
}
