import type { z } from 'zod';
import type { Config } from '../../config.ts';
import type { Database } from '../../db/database.ts';
import type { Problem, ProblemCode } from '../../domain/errors.ts';
import type { AcceptedEmail } from '../../db/idempotency.ts';
import type { Client } from '../../db/accounts/sessions.ts';
import type { Access, CallerOf, ProjectCaller, UserCaller } from '../access/caller.ts';
import type { LimitName } from '../services/rate-limit.ts';
import type { Services } from '../services/services.ts';
import type { SecurityLog } from '../access/security-log.ts';
import type { UploadLimits } from './bodies/upload.ts';

/** A handler's input: the services, the caller, and the validated parts of the request. */
export interface Call<
  A extends Access,
  P,
  Q,
  B,
  M extends string | undefined = undefined,
> extends Services {
  caller: CallerOf<A>;
  /** The caller in the project that `projectParam` of the path names. */
  member: M extends string ? ProjectCaller : null;
  params: P;
  query: Q;
  body: B;
  request: {
    id: string;
    /** As sent: HEAD runs the handler of GET. */
    method: string;
    ip: string;
    client: Client;
    header(name: string): string;
    cookie(name: string): string | undefined;
    /** The body of an endpoint that takes it `asSent`. */
    bytes: Buffer;
  };
  /** Set with an `Idempotency-Key`: a repeat must not do it again. */
  keyUse: {
    /** The mails that earlier, unfinished requests have accepted under the key, in order. */
    accepted: readonly AcceptedEmail[];
    /** The id of the mail at an index of the request: the same in every repeat. */
    emailId: (index: number) => string;
    /**
     * Records that a mail was accepted, in its transaction.
     * @throws Problem IDEMPOTENCY_IN_PROGRESS when another request has taken the key over.
     */
    recordAccepted: (tx: Database, email: AcceptedEmail) => Promise<void>;
    /**
     * Stores the response in the transaction that does the last of it. Call it last; throws
     * likewise. `status`: the endpoint's own, if absent.
     */
    completeIn: (tx: Database, data: unknown, status?: number) => Promise<void>;
  } | null;
  /**
   * The caller in a project that only the body or a row names, with the rights that the endpoint
   * declares.
   * @throws Problem PROJECT_NOT_FOUND for non-members, and what `requireRights` throws.
   */
  authorize: (projectId: string) => Promise<ProjectCaller>;
  /**
   * Keys of a part of the body that only a schema chosen by the handler tells to be unknown: names them in
   * the answer, as the pipeline does.
   * @param value by the name of its field in the body
   * @throws Problem VALIDATION_ERROR naming them, where the request asks for strictness.
   */
  refuseUnknown: (schema: z.ZodType, value: unknown) => void;
  /** The logged-in user, if any, where no session is required. */
  findSessionUser: () => Promise<UserCaller | null>;
  /** See `security-log.ts`. */
  note: SecurityLog['note'];
  noteRefusal: SecurityLog['noteRefusal'];
  /** Counts against an additional limit. @throws Problem RATE_LIMIT_EXCEEDED */
  count: (limit: LimitName, key: string) => Promise<void>;
}

/**
 * The declaration of an endpoint: shape, permission, behaviour. `pipeline.ts` runs it; `openapi.ts`
 * describes it.
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
  /** Chapter of the documentation. */
  tag: string;
  summary: string;
  /** More than the summary: units, limits, and what its errors mean. Markdown. */
  description: string;
  access: A;
  /** Success status; 200 by default. A handler may return another in an `Answer`. */
  status?: number;
  /** True: the response is `{success: true, data}`. */
  wrapped?: boolean;
  /** Which counter limits it (see `rate-limit.ts`); by default the kind of caller decides. */
  limit?: 'auth' | 'none';
  /** The path parameter that names a project: non-members get PROJECT_NOT_FOUND. */
  projectParam?: M;
  /** The key of the body that names a project: likewise. */
  projectField?: string;
  /** The required role in the project; every member by default. Secret keys are ADMIN. */
  role?: 'ADMIN';
  /** True: needs a recent login. See `requireFresh`. */
  fresh?: boolean;
  /** True if a body, which no schema has checked, needs one. */
  freshFor?: (body: Record<string, unknown>) => boolean;
  /** True: also allowed to write to a disabled project. */
  whileDisabled?: boolean;
  /** The error on a server that is not configured for it; null: it is configured. */
  unavailable?: (config: Config) => ProblemCode | null;
  /** The body is a form with a file, within these limits. */
  upload?: UploadLimits;
  /**
   * True: the request is never validated. Path and query come unchecked, the body as
   * `request.bytes`, whatever its type: for pages, and for webhooks that others call.
   */
  asSent?: boolean;
  /**
   * Largest body, in bytes. By default `limits.openBodyBytes` without credentials,
   * `limits.jsonBodyBytes` with them.
   */
  bodyBytesMax?: number;
  /** True: `Idempotency-Key` is honoured. By default by POST within a project. */
  idempotent?: boolean;
  /** The page that a browser is shown in place of an error's JSON. */
  problemPage?: (problem: Problem, visitor: Visitor) => Answer<string>;
  /** Content type of a response that is not JSON. */
  contentType?: string;
  /** Other responses that a handler may return in an `Answer`: another status, or another form. */
  otherAnswers?: readonly OtherAnswer[];
  params?: P;
  query?: Q;
  body?: B;
  response: R;
  /** The errors of this endpoint beyond those that every endpoint has; with a status if not the usual. */
  problems?: readonly (ProblemCode | readonly [code: ProblemCode, status: number])[];
  /**
   * A request body and its response, for the documentation; `bodies`: one of each kind, by name, where
   * there are several.
   */
  example?: { body?: unknown; bodies?: Readonly<Record<string, unknown>>; response?: unknown };
  /**
   * Refuses what the schema cannot tell to be wrong: references, and rules with what is stored. It runs
   * before `handle`, and also when the schema has refused fields: the body is without those then, so
   * that one answer names all problems. Other errors than VALIDATION_ERROR count if there is none.
   */
  check?(
    call: Call<A, z.output<P>, z.output<Q>, Partial<NonNullable<z.output<B>>>, M>,
  ): Promise<void>;
  /**
   * Refuses what `handle` refuses itself, mostly in its transaction. It runs only beside other errors of
   * the request, so that one answer names all problems and a right request is not checked twice, and when
   * `handle` refuses for what is missing or its state, before which wrong fields come.
   * @param wrong the names of the fields that are refused already
   */
  checkBeside?(
    call: Call<A, z.output<P>, z.output<Q>, Partial<NonNullable<z.output<B>>>, M>,
    wrong: ReadonlySet<string>,
  ): Promise<void>;
  handle(
    call: Call<A, z.output<P>, z.output<Q>, z.output<B>, M>,
  ): Promise<z.input<R> | Answer<z.input<R>>>;
}

/** The sender of a request that failed, as a page about it needs to know. */
export interface Visitor {
  config: Config;
  cookie: (name: string) => string | undefined;
  /** The path and query that were asked for. */
  url: string;
}

/** A response other than the usual one and the errors. JSON has the shape of the usual one. */
export interface OtherAnswer {
  status: number;
  /** When it is returned. */
  description: string;
  /** Default: JSON. */
  contentTypes?: readonly string[];
}

interface AnswerOptions {
  status?: number;
  headers?: Record<string, string | string[]>;
  /** The response is this text instead of the endpoint's JSON, such as a page for a browser. */
  contentType?: string;
  /**
   * The rest of a list that is written while it is read: responses like `data`, whose own list is
   * empty, each with the next items.
   */
  parts?: AsyncIterable<unknown>;
  /** The response is JSON that is written while it is made; no part divides an id. */
  text?: AsyncGenerator<string, void, undefined>;
  /** Aborted when the text has to end before its time: the client sees it break off. */
  signal?: AbortSignal;
}

/** A response with its own status, headers or form. */
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

/** An endpoint in the list of all; its own types matter only inside its declaration. */
export type AnyEndpoint = Omit<Endpoint, 'handle' | 'check' | 'checkBeside'> & {
  check?(call: Call<Access, unknown, unknown, unknown, string | undefined>): Promise<void>;
  checkBeside?(
    call: Call<Access, unknown, unknown, unknown, string | undefined>,
    wrong: ReadonlySet<string>,
  ): Promise<void>;
  handle(call: Call<Access, unknown, unknown, unknown, string | undefined>): Promise<unknown>;
};

/** Declares an endpoint. The types of its parts flow into `handle`, and that of its response out. */
export function endpoint<
  A extends Access,
  P extends z.ZodType = z.ZodUndefined,
  Q extends z.ZodType = z.ZodUndefined,
  B extends z.ZodType = z.ZodUndefined,
  R extends z.ZodType = z.ZodType,
  M extends string | undefined = undefined,
>(declaration: Endpoint<A, P, Q, B, R, M>): AnyEndpoint & { response: R } {
  return declaration;
}
