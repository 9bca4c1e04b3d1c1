import type { z } from 'zod';
import type { Config } from '../../config.ts';
import type { Database } from '../../db/database.ts';
import type { Problem, ProblemCode } from '../../domain/errors.ts';
import type { AcceptedEmail } from '../../db/idempotency.ts';
import type { Client } from '../../db/accounts/sessions.ts';
import type { ProjectNeeds } from '../access/auth.ts';
import type { Access, Caller, CallerOf, ProjectCaller, UserCaller } from '../access/caller.ts';
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
  /** The caller in the project that the path parameter `projectParam` names. */
  member: M extends string ? ProjectCaller : null;
  params: P;
  query: Q;
  body: B;
  request: {
    id: string;
    /** The method as sent. It may be HEAD, for which the handler of GET runs. */
    method: string;
    ip: string;
    client: Client;
    header(name: string): string;
    /** The header `If-Match`; undefined: the request has none. See `etag.ts`. */
    ifMatch: string | undefined;
    cookie(name: string): string | undefined;
    /** The body as sent, if the endpoint is declared `asSent`; otherwise empty. */
    bytes: Buffer;
  };
  /**
   * The use of the request's `Idempotency-Key`; null: the request has none, or the endpoint ignores it.
   * A repeat with the same key must not do the work again.
   */
  keyUse: {
    /** The mails that earlier, unfinished requests have accepted under the key, in order. */
    accepted: readonly AcceptedEmail[];
    /** Returns the id for the n-th mail of the request. It is the same in every repeat. */
    emailId: (index: number) => string;
    /**
     * Records that a mail was accepted, in its transaction.
     * @throws Problem IDEMPOTENCY_IN_PROGRESS when another request has taken the key over.
     */
    recordAccepted: (tx: Database, email: AcceptedEmail) => Promise<void>;
    /**
     * Stores the response in the last transaction of the work. Call it last.
     * @param status by default the status of the endpoint
     * @throws Problem as `recordAccepted`
     */
    completeIn: (tx: Database, data: unknown, status?: number) => Promise<void>;
  } | null;
  /**
   * Returns the caller in a project that only the body or a row names, with the rights that the
   * endpoint declares.
   * @throws Problem PROJECT_NOT_FOUND for non-members, and errors of `requireRights`.
   */
  authorize: (projectId: string) => Promise<ProjectCaller>;
  /**
   * Reports unknown keys in a part of the body whose schema the handler chooses. They are ignored or
   * refused as in the rest of the body.
   * @param value an object with the part under the name of its field, such as `{ config }`
   * @throws Problem VALIDATION_ERROR with the unknown keys, if the request asks for strictness.
   */
  refuseUnknown: (schema: z.ZodType, value: unknown) => void;
  /** Returns the logged-in user, if any, for endpoints that require no session. */
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
> extends ProjectNeeds {
  /** Verb and noun, unique: the operation id. */
  id: string;
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  path: `/${string}`;
  summary: string;
  /** More than the summary: units, limits, and the meaning of its errors. Markdown. */
  description: string;
  access: A;
  /** Success status; 200 by default. A handler may return another in an `Answer`. */
  status?: number;
  /** True: the response is `{success: true, data}`. */
  wrapped?: boolean;
  /** Its rate limit (see `rate-limit.ts`). Default: that of the project, the user or the IP address. */
  limit?: 'auth' | 'none';
  /** The path parameter that names a project. Non-members get PROJECT_NOT_FOUND. */
  projectParam?: M;
  /** The key of the body that names a project. Non-members get PROJECT_NOT_FOUND. */
  projectField?: string;
  /**
   * Finds the project of the record that `id` in the path names, so that the caller's rights in it
   * are checked before a stored response is repeated. Non-members go on to the handler.
   */
  projectOf?: (db: Database, id: string) => Promise<string | undefined>;
  /** Returns the error if the server is not configured for this endpoint; null: it is configured. */
  unavailable?: (config: Config) => ProblemCode | null;
  /**
   * Refuses a request by its unchecked body, before anything of it is reported. @throws Problem
   */
  refuseFirst?: (request: {
    config: Config;
    caller: Caller;
    body: Readonly<Record<string, unknown>>;
  }) => void;
  /** The body is a form with a file, within these limits. */
  upload?: UploadLimits;
  /**
   * True: the request is never validated. Path and query are passed unchecked, the body as
   * `request.bytes` of any type: for pages, and for webhooks that others call.
   */
  asSent?: boolean;
  /**
   * Largest body, in bytes. By default `limits.openBodyBytes` without credentials,
   * `limits.jsonBodyBytes` with them.
   */
  bodyBytesMax?: number;
  /**
   * True: the response shows a secret once. A repeat with the same `Idempotency-Key` gets it only if
   * the same user or key sends it.
   */
  showsSecret?: true;
  /** True: `Idempotency-Key` is honoured. Default: POST within a project. */
  idempotent?: boolean;
  /** Returns the page that a browser gets instead of an error's JSON. */
  problemPage?: (problem: Problem, visitor: Visitor) => Answer<string>;
  /** Content type of a response that is not JSON. */
  contentType?: string;
  /** Other responses that a handler may return in an `Answer`: another status, or another form. */
  otherAnswers?: readonly OtherAnswer[];
  /** True: its responses have an `ETag`; PUT and PATCH take `If-Match`. See `etag.ts`. */
  hasEtag?: true;
  params?: P;
  query?: Q;
  body?: B;
  response: R;
  /**
   * The errors of this endpoint besides those that every endpoint has; with a status if it is not
   * the usual one.
   */
  problems?: readonly (ProblemCode | readonly [code: ProblemCode, status: number])[];
  /**
   * A request body and what `handle` returns for it, for the documentation. `bodies`: several
   * kinds, by name.
   */
  example?: { body?: unknown; bodies?: Readonly<Record<string, unknown>>; response?: unknown };
  /**
   * Refuses what the schema cannot check: references, and rules about stored data. It runs before
   * `handle`. It also runs when the schema has refused fields, so that one response reports all
   * problems; the body then lacks these fields. Its errors other than VALIDATION_ERROR are reported
   * only if no field is invalid.
   */
  check?(
    call: Call<A, z.output<P>, z.output<Q>, Partial<NonNullable<z.output<B>>>, M>,
  ): Promise<void>;
  /**
   * Checks what `handle` checks itself, mostly in its transaction. It does not run for a valid
   * request, which would be checked twice. It runs:
   * - if the request has other errors, so that one response reports all problems
   * - if `handle` refuses because of a missing object or its state, because invalid fields are
   *   reported first
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

/** The sender of a failed request, as the error page needs it. */
export interface Visitor {
  config: Config;
  cookie: (name: string) => string | undefined;
  /** The page, as path and query, that was asked for, or whose form was sent. */
  url: string;
}

/** A response other than the usual one and the errors. If it is JSON, it has the usual schema. */
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
  /**
   * Content type of `data`, which is then sent as it is, not as the endpoint's JSON: for example a page
   * for a browser.
   */
  contentType?: string;
  /**
   * For a long list, which is written while it is read from the database. `data` is the response with
   * an empty list, and each part is the same response with the next items.
   */
  parts?: AsyncIterable<unknown>;
  /** The response is JSON that is written while it is generated. */
  text?: AsyncGenerator<string, void, undefined>;
  /** Aborted when the text must end early. The client then sees a broken response. */
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

/** Returns an HTML page instead of the endpoint's JSON. */
export function page(html: string, headers: Record<string, string> = {}): Answer<never> {
  return new Answer(html as never, { headers, contentType: 'text/html' });
}

/** A declared endpoint, without the types of its parts: only its declaration needs them. */
export type AnyEndpoint = Omit<Endpoint, 'handle' | 'check' | 'checkBeside'> & {
  check?(call: Call<Access, unknown, unknown, unknown, string | undefined>): Promise<void>;
  checkBeside?(
    call: Call<Access, unknown, unknown, unknown, string | undefined>,
    wrong: ReadonlySet<string>,
  ): Promise<void>;
  handle(call: Call<Access, unknown, unknown, unknown, string | undefined>): Promise<unknown>;
};

/** An endpoint in the list of all endpoints, with its chapter in the documentation. */
export type ListedEndpoint = AnyEndpoint & { chapter: string };

/**
 * Declares an endpoint. The types of its parts are the input of `handle`; its response type is
 * checked.
 */
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
