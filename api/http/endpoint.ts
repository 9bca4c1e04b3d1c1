import type { z } from 'zod';
import type { Config } from '../../config.ts';
import type { Database } from '../../db/database.ts';
import type { ProblemCode } from '../../domain/errors.ts';
import type { AcceptedEmail } from '../../db/idempotency.ts';
import type { Client } from '../../db/accounts/sessions.ts';
import type { Access, CallerOf, ProjectCaller, UserCaller } from '../access/caller.ts';
import type { LimitName } from './rate-limit.ts';
import type { Services } from './services.ts';
import type { SecurityLog } from '../access/security-log.ts';
import type { UploadLimits } from './upload.ts';

/** What a handler gets: the services, who calls, and the checked parts of the request. */
export interface Call<
  A extends Access,
  P,
  Q,
  B,
  M extends string | undefined = undefined,
> extends Services {
  caller: CallerOf<A>;
  /** The caller in the project that the path names by `projectParam`. */
  member: M extends string ? ProjectCaller : null;
  params: P;
  query: Q;
  body: B;
  request: {
    id: string;
    /** As it was sent: HEAD runs what answers GET. */
    method: string;
    ip: string;
    client: Client;
    header(name: string): string;
    cookie(name: string): string | undefined;
    /** The body of an endpoint that takes it `asSent`. */
    bytes: Buffer;
  };
  /** Of a request with an `Idempotency-Key`: for mail, which must not leave again with a repeat. */
  keyUse: {
    /** What earlier requests have accepted under the key without coming to their end, in order. */
    accepted: readonly AcceptedEmail[];
    /**
     * Notes that a mail was accepted, in its transaction.
     * @throws Problem IDEMPOTENCY_IN_PROGRESS when another request has taken the key over.
     */
    recordAccepted: (tx: Database, email: AcceptedEmail) => Promise<void>;
    /** Stores the answer in the transaction of the last mail. Call it last; throws likewise. */
    completeIn: (tx: Database, data: unknown) => Promise<void>;
  } | null;
  /**
   * The caller in a project that only the body or a row names, with the rights of the declaration.
   * @throws Problem PROJECT_NOT_FOUND for strangers, and what `requireRights` throws.
   */
  authorize: (projectId: string) => Promise<ProjectCaller>;
  /** The logged-in user, if any, where a session is not required. */
  findSessionUser: () => Promise<UserCaller | null>;
  /** See `security-log.ts`. */
  note: SecurityLog['note'];
  noteRefusal: SecurityLog['noteRefusal'];
  /** Counts against one more limit. @throws Problem RATE_LIMIT_EXCEEDED */
  count: (limit: LimitName, key: string) => Promise<void>;
}

/**
 * One endpoint of the API, whole: shape, permission, behaviour. The pipeline in `pipeline.ts`
 * runs it; `openapi.ts` describes it.
 */
export interface Endpoint<
  A extends Access = Access,
  P extends z.ZodType = z.ZodType,
  Q extends z.ZodType = z.ZodType,
  B extends z.ZodType = z.ZodType,
  R extends z.ZodType = z.ZodType,
  M extends string | undefined = string | undefined,
> {
  /** Verb and noun, unique: the operation id. */
  id: string;
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  path: `/${string}`;
  /** The chapter of the documentation. */
  tag: string;
  summary: string;
  access: A;
  /** Success status; 200 when not given. A handler may answer another by `answer`. */
  status?: number;
  /** True: the answer is `{success: true, data}`. */
  wrapped?: boolean;
  /** Which counter limits it (see `ratelimit.ts`); by default the caller decides. */
  limit?: 'auth' | 'none';
  /** The path parameter that names a project: strangers to it are answered PROJECT_NOT_FOUND. */
  projectParam?: M;
  /** The role it takes in the project; when not given, every member may. Secret keys are ADMIN. */
  role?: 'ADMIN';
  /** True: a session has to be a fresh one. See `requireFresh`. */
  fresh?: boolean;
  /** True: also writes to a disabled project are let through. */
  whileDisabled?: boolean;
  /** What it is refused with on a server that is not set up for it; null: it is. */
  unavailable?: (config: Config) => ProblemCode | null;
  /** The body is a form with a file, within these limits. */
  upload?: UploadLimits;
  /**
   * True: the form of a request is never refused. Path and query come unchecked, the body as
   * `request.bytes`, whatever its type: for pages and for receivers, which others call.
   */
  asSent?: boolean;
  /**
   * Bytes of the body, at most. When not given: `limits.openBodyBytes` without credentials,
   * `limits.jsonBodyBytes` with them.
   */
  bodyBytesMax?: number;
  /**
   * Whether `Idempotency-Key` is honoured. When not given: by POST within a project.
   */
  idempotent?: boolean;
  /** Content type of an answer that is not JSON. */
  contentType?: string;
  /** What else a handler answers by `answer`: another status, or another form. */
  otherAnswers?: readonly OtherAnswer[];
  params?: P;
  query?: Q;
  body?: B;
  response: R;
  /** The errors of this endpoint beside those every endpoint has. */
  problems?: readonly ProblemCode[];
  /** A request body and its answer, for the documentation. */
  example?: { body?: unknown; response?: unknown };
  handle(
    call: Call<A, z.output<P>, z.output<Q>, z.output<B>, M>,
  ): Promise<z.input<R> | Answer<z.input<R>>>;
}

/** An answer beside the usual one and the errors. JSON has the shape of the usual one. */
export interface OtherAnswer {
  status: number;
  /** When it comes. */
  description: string;
  /** When not given: JSON. */
  contentTypes?: readonly string[];
}

interface AnswerOptions {
  status?: number;
  headers?: Record<string, string | string[]>;
  /** The answer is this text instead of the endpoint's own form, such as a page for a browser. */
  contentType?: string;
}

/** An answer with its own status, headers or form. */
export class Answer<T> {
  readonly data: T;
  readonly options: AnswerOptions;

  constructor(data: T, options: AnswerOptions) {
    this.data = data;
    this.options = options;
  }
}

export function answer<T>(data: T, options: AnswerOptions): Answer<T> {
  return new Answer(data, options);
}

/** An HTML page in place of the endpoint's JSON. */
export function page(html: string, headers: Record<string, string> = {}): Answer<never> {
  return new Answer(html as never, { headers, contentType: 'text/html' });
}

/** An endpoint as the list holds it; its own types matter only inside its declaration. */
export type AnyEndpoint = Omit<Endpoint, 'handle'> & {
  handle(call: Call<Access, unknown, unknown, unknown, string | undefined>): Promise<unknown>;
};

/** Declares an endpoint. The types of its parts flow into `handle`. */
export function endpoint<
  A extends Access,
  P extends z.ZodType = z.ZodUndefined,
  Q extends z.ZodType = z.ZodUndefined,
  B extends z.ZodType = z.ZodUndefined,
  R extends z.ZodType = z.ZodType,
  M extends string | undefined = undefined,
>(declaration: Endpoint<A, P, Q, B, R, M>): AnyEndpoint {
  return declaration;
}
