import type { z } from 'zod';
import type { Config } from '../../config.ts';
import type { Database } from '../../db/database.ts';
import type { ProblemCode } from '../../domain/errors.ts';
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
  /** The caller as a member of the project in the path parameter `projectParam`. */
  member: M extends string ? ProjectCaller : null;
  params: P;
  query: Q;
  body: B;
  request: {
    id: string;
    /** The method of the request. For HEAD, the handler of GET runs. */
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
   * Functions for the `Idempotency-Key` of the request. With them, the handler does no work again
   * that an earlier request with this key has done. null: the request has no key, or the endpoint
   * ignores the key.
   */
  keyUse: {
    /** The mails that earlier, unfinished requests with this key have accepted, in order. */
    accepted: readonly AcceptedEmail[];
    /**
     * Returns the id of the n-th mail of the request, which is the same in every repeated request.
     */
    emailId: (index: number) => string;
    /**
     * Records that a mail was accepted, in the transaction of the mail.
     * @throws Problem IDEMPOTENCY_IN_PROGRESS when another request has taken over the key
     */
    recordAccepted: (tx: Database, email: AcceptedEmail) => Promise<void>;
    /**
     * Stores the response in the last transaction of the work. Call this function last in the
     * transaction.
     * @param status by default the status of the endpoint
     * @throws Problem IDEMPOTENCY_IN_PROGRESS as `recordAccepted`
     */
    completeIn: (tx: Database, data: unknown, status?: number) => Promise<void>;
  } | null;
  /**
   * Returns the caller in a project that only the body or a row identifies, with the rights that
   * the endpoint declares.
   * @throws Problem PROJECT_NOT_FOUND for non-members, and errors of `requireRights`.
   */
  authorize: (projectId: string) => Promise<ProjectCaller>;
  /**
   * Reports unknown keys in a part of the body whose schema the handler chooses. The keys are
   * ignored or refused like those in the rest of the body.
   * @param value an object with the part under the name of its field, such as `{ config }`
   * @throws Problem VALIDATION_ERROR with the unknown keys, if the request has `Prefer:
   * handling=strict`.
   */
  refuseUnknown: (schema: z.ZodType, value: unknown) => void;
  /** Returns the user who is signed in, if any, for endpoints that require no session. */
  findSessionUser: () => Promise<UserCaller | null>;
  /** Adds an event to the security log: see `security-log.ts`. */
  note: SecurityLog['note'];
  noteRefusal: SecurityLog['noteRefusal'];
  /** Counts against an additional limit. @throws Problem RATE_LIMIT_EXCEEDED */
  count: (limit: LimitName, key: string) => Promise<void>;
}

/**
 * The declaration of an endpoint: schemas, rights and behaviour. `pipeline.ts` handles requests by
 * the declaration, and `openapi.ts` describes the endpoint by it.
 */
export interface Endpoint<
  A extends Access = Access,
  P extends z.ZodType = z.ZodType,
  Q extends z.ZodType = z.ZodType,
  B extends z.ZodType = z.ZodType,
  R extends z.ZodType = z.ZodType,
  M extends string | undefined = string | undefined,
> extends ProjectNeeds {
  /** Verb and noun, unique: the operation id in the OpenAPI document. */
  id: string;
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  path: `/${string}`;
  summary: string;
  /** Details beyond the summary: units, limits, and the meaning of errors. Markdown. */
  description: string;
  access: A;
  /** Success status; 200 by default. A handler may return another status in an `Answer`. */
  status?: number;
  /** True: the response is `{success: true, data}`. Default: the response is the data alone. */
  wrapped?: boolean;
  /**
   * The rate limit that applies (see `rate-limit.ts`). Default: the limit of the project, the user
   * or the IP address.
   */
  limit?: 'auth' | 'none';
  /** The path parameter with the id of a project. Non-members get PROJECT_NOT_FOUND. */
  projectParam?: M;
  /** The field of the body with the id of a project. Non-members get PROJECT_NOT_FOUND. */
  projectField?: string;
  /**
   * Finds the project of the record that `id` in the path identifies. The caller's rights in this
   * project are checked before a stored response is repeated. For non-members, the handler runs.
   */
  projectOf?: (db: Database, id: string) => Promise<string | undefined>;
  /**
   * Returns the error if the server is not configured for this endpoint; null: it is configured.
   */
  unavailable?: (config: Config) => ProblemCode | null;
  /**
   * Refuses a request by its body before validation, so that no other error is reported.
   * @throws Problem
   */
  refuseFirst?: (request: {
    config: Config;
    caller: Caller;
    body: Readonly<Record<string, unknown>>;
  }) => void;
  /** The body is a form with a file, within these limits. */
  upload?: UploadLimits;
  /**
   * True: the request is never validated. Path and query are passed unchanged, and the body of any
   * type as `request.bytes`. For pages, and for webhooks that other services call.
   */
  asSent?: boolean;
  /**
   * Maximum size of the body, in bytes. By default `limits.openBodyBytes` without credentials,
   * `limits.jsonBodyBytes` with credentials.
   */
  bodyBytesMax?: number;
  /**
   * True: the response shows a secret once. A repeated request with the same `Idempotency-Key` gets
   * this response only if the same user or key sends it.
   */
  showsSecret?: true;
  /** True: `Idempotency-Key` is supported. Default: for POST within a project. */
  idempotent?: boolean;
  /** Content type of a response that is not JSON. */
  contentType?: string;
  /** Other responses that a handler may return in an `Answer`: another status, or another form. */
  otherAnswers?: readonly OtherAnswer[];
  /** True: responses have an `ETag`, and PUT and PATCH support `If-Match`. See `etag.ts`. */
  hasEtag?: true;
  params?: P;
  query?: Q;
  body?: B;
  response: R;
  /**
   * The errors of this endpoint in addition to those that every endpoint has. An error has a
   * `status` if this endpoint returns it with an unusual status.
   */
  problems?: readonly (ProblemCode | readonly [code: ProblemCode, status: number])[];
  /**
   * A request body and the response to it, for the documentation. `bodies`: several kinds of
   * bodies, by name.
   */
  example?: { body?: unknown; bodies?: Readonly<Record<string, unknown>>; response?: unknown };
  /**
   * Refuses what the schema cannot check: references, and rules about stored data. Runs before
   * `handle`, also when the schema has refused fields, so that one response reports all problems.
   * The body then lacks these fields. Errors of `check` other than VALIDATION_ERROR are reported
   * only if all fields are valid.
   */
  check?(
    call: Call<A, z.output<P>, z.output<Q>, Partial<NonNullable<z.output<B>>>, M>,
  ): Promise<void>;
  /**
   * Makes checks that `handle` itself also makes, mostly in its transaction. Valid requests skip
   * `checkBeside`, because they would be checked twice. The checks run:
   * - if the request has other errors, so that one response reports all problems
   * - if `handle` refuses because an object is missing or in the wrong state, because invalid
   * fields are reported first
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

/**
 * A response in addition to the usual one and the errors. If it is JSON, it has the usual schema.
 */
export interface OtherAnswer {
  status: number;
  /** The case in which the response is returned. */
  description: string;
  /** Default: JSON. */
  contentTypes?: readonly string[];
}

interface AnswerOptions {
  status?: number;
  headers?: Record<string, string | string[]>;
  /**
   * Content type of `data`. If set, `data` is sent unchanged instead of as JSON: for example a page
   * for a browser.
   */
  contentType?: string;
  /**
   * Set for a long list, which is sent while it is read from the database. `data` is the response
   * with an empty list, and each part is the same response with the next items.
   */
  parts?: AsyncIterable<unknown>;
  /** The response as JSON text, which is sent while it is generated. */
  text?: AsyncGenerator<string, void, undefined>;
  /** Aborted when the text must end early. The client then gets an incomplete response. */
  signal?: AbortSignal;
}

/** A response with its own status, headers or content type. */
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

/** A declared endpoint without the types of its parts, which only the declaration needs. */
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
 * Declares an endpoint. The types of its schemas become the input types of `handle`, and its
 * response type is checked.
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
