import { withGiven } from './text-rules.ts';

/**
 * The error codes: every code of the API, its HTTP status, and its default message. Codes are part
 * of the API; the messages are not.
 */
export const problems = {
  INVALID_REQUEST_BODY: [400, 'The request body could not be read.'],
  PROJECT_ID_REQUIRED: [400, 'The header X-Project-Id is missing, or it is not a uuid.'],
  INVALID_IDEMPOTENCY_KEY: [400, 'Idempotency-Key must be 1 to 255 printable ASCII characters.'],
  INVALID_TOKEN: [400, 'The link has been used, has expired or is unknown.'],
  FILE_CONTENT_MISMATCH: [400, 'The content of the file does not match its declared type.'],
  SUBSCRIPTION_EXISTS: [400, 'The project already has a paid subscription.'],
  SUBSCRIPTION_REQUIRED: [400, 'The project has no paid subscription.'],
  CUSTOMER_REQUIRED: [400, 'The project has not completed a checkout yet.'],
  INVALID_SUBSCRIBE_URL: [400, 'SubscribeURL is not an address of Amazon SNS.'],
  INVALID_NOTIFICATION: [400, 'The notification cannot be read.'],
  MISSING_SIGNATURE: [400, 'The header Stripe-Signature is missing.'],
  CAMPAIGN_NOT_EDITABLE: [400, 'The status of the campaign does not allow this change.'],
  CAMPAIGN_SEGMENT_LOCKED: [400, 'The audience of a scheduled campaign cannot be changed.'],
  CAMPAIGN_NOT_SENDABLE: [400, 'Only a draft or scheduled campaign can be sent.'],
  CAMPAIGN_NOT_CANCELLABLE: [400, 'Only a scheduled, sending or paused campaign can be cancelled.'],
  CAMPAIGN_NOT_ARCHIVABLE: [400, 'A scheduled, sending or paused campaign cannot be archived.'],
  CAMPAIGN_NOT_PAUSABLE: [400, 'Only a campaign that is sending can be paused.'],
  CAMPAIGN_NOT_RESUMABLE: [400, 'Only a paused campaign can be resumed.'],
  EXPERIMENT_NOT_RUNNING: [400, 'The experiment has not begun, or its campaign was cancelled.'],
  CAMPAIGN_NO_RECIPIENTS: [400, 'The audience of the campaign is empty.'],
  CAMPAIGN_NOT_FINISHED: [400, 'The campaign is not sent yet.'],
  SCHEDULE_IN_PAST: [400, 'The send time is not in the future.'],
  CONTACT_UNSUBSCRIBED: [400, 'The contact is unsubscribed and cannot receive marketing mail.'],
  WORKFLOW_NOT_ENABLED: [400, 'The workflow is not enabled.'],
  TRIGGER_STEP_REQUIRED: [400, 'The trigger step cannot be removed from a workflow.'],
  TRIGGER_STEP_EXISTS: [400, 'The workflow already has a trigger step, and can have only one.'],
  SEGMENT_NOT_STATIC: [400, 'Only a STATIC segment has members that can be added or removed.'],
  SEGMENT_NOT_TRACKED: [400, 'This segment does not track which contacts enter and leave it.'],
  STEP_NOT_SPLICEABLE: [
    400,
    'The step has more than one outgoing transition, so `splice` cannot connect the steps before and after it.',
  ],
  TRANSITION_SELF: [400, 'A transition cannot lead from a step to itself.'],
  TRANSITION_FROM_EXIT: [400, 'An EXIT step cannot have an outgoing transition.'],
  TRANSITION_TO_TRIGGER: [400, 'A transition cannot lead to the trigger step.'],
  TRANSITION_EXISTS: [
    400,
    'The step already has an outgoing transition. A step without branches can have only one.',
  ],
  TRANSITION_BRANCH_EXISTS: [
    400,
    'The branch already has an outgoing transition, and can have only one.',
  ],
  TRANSITION_LOOP: [400, 'The transition would make a loop, and a workflow cannot have loops.'],
  FIELD_NOT_DELETABLE: [400, 'Every contact has this field, so it cannot be deleted.'],
  RESERVED_EVENT: [400, 'System events cannot be deleted.'],
  EVENT_SUBSCRIPTION_LIMIT: [400, 'The project has reached its maximum of event subscriptions.'],
  EVENT_SUBSCRIPTION_NOT_ENABLED: [400, 'The event subscription is disabled.'],
  CONSENT_SENDER_REQUIRED: [400, 'The double opt-in mail has no sender.'],
  DOMAIN_NOT_SIGNING: [
    400,
    'The mail provider signs the mail of this domain, so Everpost has no DKIM key to replace.',
  ],
  RAMP_LIMIT: [400, 'The project has reached its maximum of ramps.'],
  TOPIC_LIMIT: [400, 'The project has reached its maximum of topics.'],
  PROVIDER_LIMIT: [400, 'The project has reached its maximum of mail providers.'],
  FACTOR_LIMIT: [400, 'The account has reached its maximum of second factors.'],
  INVALID_PASSKEY: [400, 'The passkey could not be verified.'],
  INVALID_LOGOUT_TOKEN: [400, 'The logout token is not valid, or was sent before.'],
  API_KEY_LIMIT: [400, 'The project has reached its maximum of API keys.'],
  SECRET_LIMIT: [400, 'The project has reached its maximum of secrets.'],
  MISSING_AUTH: [401, 'The request has no API key. Send the header "Authorization: Bearer <key>".'],
  INVALID_API_KEY: [
    401,
    'The API key is unknown, or it is a public key and this endpoint needs a secret key.',
  ],
  UNAUTHORIZED: [401, 'You are not logged in.'],
  INVALID_CREDENTIALS: [401, 'The email address or the password is wrong.'],
  SECOND_FACTOR_PENDING: [401, 'The password was right. The account also needs a second factor.'],
  INVALID_CODE: [401, 'The code is wrong, or was used before.'],
  BILLING_LIMIT_EXCEEDED: [402, 'The project has reached its billing limit for this month.'],
  FORBIDDEN: [403, 'This server does not allow the request.'],
  PROJECT_ACCESS_DENIED: [403, 'You are not a member of this project.'],
  PROJECT_DISABLED: [403, 'The project is disabled.'],
  INSUFFICIENT_ROLE: [403, 'This request needs the role ADMIN or OWNER.'],
  INSUFFICIENT_SCOPE: [403, 'The API key does not have the scope that this request needs.'],
  KEY_RESTRICTED: [403, 'A restriction of the API key does not allow this request.'],
  SESSION_REQUIRED: [403, 'This request needs the session of a logged-in user, not this API key.'],
  PASSWORD_SIGN_IN_DISABLED: [403, 'This server accepts no passwords.'],
  SSO_REQUIRED: [
    403,
    'Users with an email address of this domain must sign in with their identity provider.',
  ],
  EMAIL_VERIFICATION_REQUIRED: [403, 'Your email address is not verified yet.'],
  REAUTHENTICATION_REQUIRED: [403, 'This request needs a recent login.'],
  SECOND_FACTOR_REQUIRED: [403, 'This request needs a session with a second factor.'],
  ORIGIN_NOT_ALLOWED: [403, 'Requests from this origin are not allowed.'],
  DOMAIN_NOT_REGISTERED: [403, 'The sender domain does not belong to this project.'],
  DOMAIN_NOT_VERIFIED: [403, 'The sender domain is not verified.'],
  TEST_RECIPIENT_NOT_ALLOWED: [403, 'A test can only be sent to members of the project.'],
  OWNER_PROTECTED: [403, 'The owner of a project cannot be removed or given another role.'],
  SELF_REMOVAL: [403, 'You cannot remove yourself with this endpoint.'],
  INVALID_SIGNATURE: [403, 'The signature does not match the request.'],
  SIGNUPS_DISABLED: [403, 'Sign-up is switched off on this server.'],
  CONTACT_NOT_FOUND: [404, 'There is no such contact.'],
  SEGMENT_NOT_FOUND: [404, 'There is no such segment.'],
  TEMPLATE_NOT_FOUND: [404, 'There is no such template.'],
  CAMPAIGN_NOT_FOUND: [404, 'There is no such campaign.'],
  EXPERIMENT_NOT_FOUND: [404, 'The campaign has no experiment.'],
  WORKFLOW_NOT_FOUND: [404, 'There is no such workflow.'],
  STEP_NOT_FOUND: [404, 'There is no such step in this workflow.'],
  TRANSITION_NOT_FOUND: [404, 'There is no such transition in this workflow.'],
  VERSION_NOT_FOUND: [404, 'The workflow never had this version.'],
  EXECUTION_NOT_FOUND: [404, 'There is no such execution.'],
  DOMAIN_NOT_FOUND: [404, 'There is no such domain.'],
  PROJECT_NOT_FOUND: [404, 'There is no such project.'],
  MEMBER_NOT_FOUND: [404, 'There is no such member.'],
  USER_NOT_FOUND: [404, 'There is no account with this address.'],
  FILE_NOT_FOUND: [404, 'There is no such file.'],
  BILLING_DISABLED: [404, 'Billing is switched off on this server.'],
  OAUTH_NOT_CONFIGURED: [404, 'Login with this provider is not configured on this server.'],
  JOB_NOT_FOUND: [404, 'There is no such job.'],
  EMAIL_NOT_FOUND: [404, 'There is no such email.'],
  EVENT_SUBSCRIPTION_NOT_FOUND: [404, 'There is no such event subscription.'],
  EVENT_DELIVERY_NOT_FOUND: [404, 'There is no such delivery of this subscription.'],
  TOPIC_NOT_FOUND: [404, 'There is no such topic.'],
  RAMP_NOT_FOUND: [404, 'There is no such ramp.'],
  ERASURE_NOT_FOUND: [404, 'There is no such erasure.'],
  SUPPRESSION_NOT_FOUND: [404, 'The address is not on the suppression list.'],
  PROVIDER_NOT_FOUND: [404, 'There is no such mail provider.'],
  FACTOR_NOT_FOUND: [404, 'The account has no such second factor.'],
  IDENTITY_NOT_FOUND: [404, 'No identity provider is linked to the account under this id.'],
  API_KEY_NOT_FOUND: [404, 'There is no such API key.'],
  SECRET_NOT_FOUND: [404, 'There is no such secret.'],
  PLAN_NOT_FOUND: [404, 'There is no such plan.'],
  REQUEST_NOT_FOUND: [404, 'The request log has no such request.'],
  RESOURCE_NOT_FOUND: [404, 'There is no such resource.'],
  ROUTE_NOT_FOUND: [404, 'There is no endpoint or page with this path.'],
  METHOD_NOT_ALLOWED: [405, 'This path exists, but not with this method.'],
  IDEMPOTENCY_KEY_REUSED: [409, 'This Idempotency-Key was used for another request.'],
  IDEMPOTENCY_IN_PROGRESS: [409, 'The first request with this Idempotency-Key is still running.'],
  CONFLICT: [409, 'The request conflicts with existing data.'],
  MEMBER_MANAGED: [409, 'The role of this member comes from a rule of the sign-in policy.'],
  MEMBER_EXISTS: [409, 'The user is already a member, or is already invited.'],
  CONTACT_EXISTS: [409, 'Another contact has this email address.'],
  CONTACT_SUPPRESSED: [
    409,
    'The address is on the suppression list: its contact was erased after an opt-out.',
  ],
  EMAIL_TAKEN: [409, 'An account with this email address already exists.'],
  KEY_ROTATION_PENDING: [
    409,
    'The domain already has a new DKIM key that waits for its DNS record.',
  ],
  DOMAIN_EXISTS: [409, 'Another project on this server has verified this domain.'],
  TOPIC_EXISTS: [409, 'The project already has a topic with this key.'],
  FACTOR_NEEDED: [409, 'The account needs a second factor.'],
  LAST_SIGN_IN_METHOD: [409, 'The account has no other way to sign in.'],
  API_KEY_EXPIRED: [409, 'The API key has expired.'],
  RAMP_EXISTS: [409, 'An unfinished ramp has the same provider and domain.'],
  RAMP_NOT_RUNNING: [409, 'Only a running ramp can be paused.'],
  RAMP_NOT_PAUSED: [409, 'Only a paused or stopped ramp can be resumed.'],
  EXPERIMENT_DECIDED: [409, 'The experiment is decided already.'],
  CAMPAIGN_ACTIVE: [409, 'A scheduled, sending or paused campaign cannot be deleted.'],
  SEGMENT_IN_USE: [409, 'Campaigns, workflows or other segments use this segment.'],
  DOMAIN_IN_USE: [409, 'Templates, campaigns or the consent policy send from this domain.'],
  TEMPLATE_IN_USE: [409, 'Workflow steps, experiments or the consent policy use this template.'],
  FIELD_IN_USE: [409, 'Segments, campaigns or workflows use this field.'],
  EVENT_IN_USE: [409, 'Segments or workflows use this event.'],
  REPLAY_IN_PROGRESS: [409, 'A replay of this subscription is in progress.'],
  EVENT_DELIVERY_NOT_RETRYABLE: [
    409,
    'The event of this delivery was deleted, so it cannot be sent again.',
  ],
  TOPIC_IN_USE: [409, 'Templates, campaigns or workflow steps use this topic.'],
  PROVIDER_EXISTS: [409, 'The project has a mail provider with this name.'],
  PROVIDER_IN_USE: [409, 'Mail, routes or ramps still use this mail provider.'],
  SECRET_IN_USE: [409, 'Workflow steps or event subscriptions use this secret.'],
  WORKFLOW_HAS_ACTIVE_EXECUTIONS: [409, 'The workflow has active executions.'],
  EXECUTION_EXISTS: [409, 'The workflow does not allow another execution for this contact now.'],
  EXECUTION_NOT_FAILED: [409, 'Only a failed execution can be retried.'],
  EXECUTION_NOT_ACTIVE: [409, 'The execution has already ended.'],
  EMAIL_NOT_PENDING: [409, 'The email is no longer pending.'],
  EMAIL_NOT_RESCHEDULABLE: [409, 'Only mail that was sent with POST /v1/send can be rescheduled.'],
  EXECUTION_PAUSED: [409, 'The execution is already paused.'],
  EXECUTION_NOT_PAUSED: [409, 'The execution is not paused.'],
  EXECUTION_NOT_WAITING: [409, 'The execution is not in a DELAY, WAIT_FOR_EVENT or DIGEST step.'],
  EXECUTION_NOT_SKIPPABLE: [409, 'The execution has no step that can be skipped now.'],
  PLAN_STALE: [409, 'Objects of the plan have changed since it was made.'],
  PLAN_BLOCKED: [409, 'Other objects or active executions prevent changes of the plan.'],
  PRECONDITION_FAILED: [412, 'The record has changed since it was read.'],
  PAYLOAD_TOO_LARGE: [413, 'The request body is too large.'],
  FILE_TOO_LARGE: [413, 'The file is too large.'],
  UPLOAD_QUOTA_EXCEEDED: [413, 'The file does not fit into the storage quota of the project.'],
  MESSAGE_TOO_LARGE: [413, 'The message with its attachments is too large.'],
  UNSUPPORTED_MEDIA_TYPE: [415, 'The body must have the content type application/json.'],
  VALIDATION_ERROR: [422, 'The request is not valid.'],
  CONDITION_TOO_HEAVY: [422, 'The condition takes too long to evaluate over all contacts.'],
  STATS_TOO_HEAVY: [422, 'There are too many records to count in one request.'],
  WORKFLOW_INVALID: [422, 'The workflow has problems that prevent it from running.'],
  PICTURE_TOO_LARGE: [422, 'The workflow has too many steps or transitions for a picture.'],
  SIMULATION_TOO_LARGE: [422, 'The simulation has too many steps, or rendering took too long.'],
  INVALID_EMAIL: [422, 'This email address cannot be used to sign up.'],
  RATE_LIMIT_EXCEEDED: [429, 'Too many requests.'],
  INTERNAL_SERVER_ERROR: [500, 'The server has failed to handle this request.'],
  UPLOADS_DISABLED: [503, 'This server has no storage for files.'],
  SERVICE_UNAVAILABLE: [503, 'The server cannot handle this request at the moment.'],
} as const satisfies Record<string, readonly [status: number, message: string]>;

export type ProblemCode = keyof typeof problems;

/** All codes that an invalid field can have. */
export type FieldCode =
  | 'invalid_type'
  | 'invalid_string'
  | 'too_small'
  | 'too_big'
  | 'invalid_enum_value'
  | 'invalid_union'
  | 'invalid_date'
  | 'required'
  | 'custom'
  | 'reserved_event'
  | 'unsupported_field'
  | 'unsupported_operator'
  | 'circular_reference'
  | 'invalid_template'
  | 'not_allowed'
  | 'not_found'
  | 'unknown_field'
  | 'too_common';

/**
 * Returns the last argument of Zod's `refine` or `regex`, which sets the message and the code of
 * the issue.
 */
export function fault(code: FieldCode, message: string) {
  return { params: { code }, message };
}

/** Like `fault`, but the message also shows the given value. Must not be used for secrets. */
export function faultWithGiven(code: FieldCode, message: string) {
  const error = ({ input }: { input?: unknown }) => withGiven(message, input);
  return { params: { code }, error };
}

/**
 * One problem of a request. `field`: a dot path in the body, a parameter name, or '' for the whole
 * body.
 */
export interface FieldProblem {
  field: string;
  message: string;
  code: FieldCode;
  received?: string;
  /** For files: the position in the file, from 1; null: not known. */
  line?: number | null;
  column?: number | null;
}

/** An error response. It can be thrown anywhere; the API turns it into the error envelope. */
export class Problem extends Error {
  readonly code: ProblemCode;
  readonly details: Record<string, unknown> | undefined;
  readonly errors: readonly FieldProblem[] | undefined;
  readonly suggestion: string | undefined;
  readonly status: number;

  constructor(
    code: ProblemCode,
    more: {
      message?: string;
      details?: Record<string, unknown>;
      errors?: readonly FieldProblem[];
      /** A sentence about what to do next. Default: the suggestion for the code. */
      suggestion?: string | undefined;
      /** The HTTP status, for a code that can have several. */
      status?: number;
      cause?: unknown;
    } = {},
  ) {
    super(more.message ?? problems[code][1], 'cause' in more ? { cause: more.cause } : {});
    this.name = 'Problem';
    this.code = code;
    this.details = more.details;
    this.errors = more.errors;
    this.suggestion = more.suggestion;
    this.status = more.status ?? problems[code][0];
  }
}

/** Returns a 422 about one field, for rules that a schema cannot express. */
export function invalidField(
  field: string,
  code: FieldCode,
  message: string,
  received?: string,
): Problem {
  return new Problem('VALIDATION_ERROR', {
    errors: [{ field, message, code, ...(received === undefined ? {} : { received }) }],
  });
}

/** Collects the refusals of one request, so that one response reports all of them. */
export class Refusals {
  readonly #errors: FieldProblem[] = [];
  #other: Problem | undefined;

  /** The invalid fields that were collected. */
  get errors(): readonly FieldProblem[] {
    return this.#errors;
  }

  /**
   * Adds the Problem that a check has thrown.
   * @throws the error, if it is not a Problem
   */
  add(error: unknown): void {
    if (!(error instanceof Problem)) throw error;
    if (error.code === 'VALIDATION_ERROR') this.#errors.push(...(error.errors ?? []));
    else this.#other ??= error;
  }

  /** Runs a check. If the check throws a Problem, collects it and returns undefined. */
  try<T>(check: () => T): T | undefined {
    try {
      return check();
    } catch (error) {
      this.add(error);
      return undefined;
    }
  }

  /**
   * Throws if anything was collected.
   * @throws Problem VALIDATION_ERROR with all invalid fields; if no field is invalid, the first
   * other problem
   */
  throw(): void {
    if (this.#errors.length > 0) throw new Problem('VALIDATION_ERROR', { errors: this.#errors });
    if (this.#other) throw this.#other;
  }
}

/**
 * Runs all checks in order and throws their problems together.
 * @throws Problem as `Refusals.throw` does
 */
export async function together(...checks: readonly (() => unknown)[]): Promise<void> {
  const refusals = new Refusals();
  for (const check of checks) {
    try {
      await check();
    } catch (error) {
      refusals.add(error);
    }
  }
  refusals.throw();
}

/**
 * Returns the last argument of `refine` or `superRefine` for a rule about `fields` of an object.
 * The rule is then checked as soon as these fields are valid. By default, Zod skips the rule while
 * any field is invalid.
 */
export function whenRight(...fields: readonly string[]) {
  return {
    when: ({
      value,
      issues,
    }: {
      value: unknown;
      issues: readonly { path?: PropertyKey[] | undefined }[];
    }) =>
      typeof value === 'object' &&
      value !== null &&
      !Array.isArray(value) &&
      !issues.some(({ path = [] }) => fields.includes(String(path[0]))),
  };
}

type MissingOf<Code> = Code extends `${infer Resource}_NOT_FOUND` ? Resource : never;
type Resource = Exclude<MissingOf<ProblemCode>, 'RESOURCE' | 'ROUTE'>;

/** Returns a 404 for a resource. Another project's resource looks exactly like a missing one. */
export function notFound(resource: Resource, id: string): Problem {
  const code = `${resource}_NOT_FOUND` as const;
  return new Problem(code, {
    message: `${problems[code][1].replace(/\.$/, '')}: ${id}.`,
    details: { resource: resource.toLowerCase(), id },
  });
}

/** Returns the row; throws 404 if the row is undefined. */
export function found<Row>(resource: Resource, id: string, row: Row | undefined): Row {
  if (row === undefined) throw notFound(resource, id);
  return row;
}

/** Returns the rows in the order of the ids, or throws 404 naming the first missing one. */
export function foundAll<Row extends { id: string }>(
  resource: Resource,
  ids: readonly string[],
  rows: readonly Row[],
): Row[] {
  const known = new Map(rows.map((row) => [row.id, row]));
  return ids.map((id) => found(resource, id, known.get(id)));
}

/**
 * Returns an error that only a bug in Everpost can cause.
 * @param what the rule that was broken, as a sentence
 */
export function bug(what: string): Error {
  return new Error(`${what} This is a bug in Everpost: please report it.`);
}
