import type { ProblemCode } from '../../domain/errors.ts';

type NotFound = Exclude<Extract<ProblemCode, `${string}_NOT_FOUND`>, 'ROUTE_NOT_FOUND'>;

/** Advice by error code: every code that does not explain itself has one. */
const suggestions: Record<Exclude<ProblemCode, NotFound>, string> = {
  INVALID_REQUEST_BODY: 'Send the body that /docs describes for this endpoint.',
  PROJECT_ID_REQUIRED: 'Send the id of one of GET /users/@me/projects as X-Project-Id.',
  INVALID_IDEMPOTENCY_KEY: 'Use a uuid, for example.',
  INVALID_TOKEN:
    'Ask for a new link with POST /auth/request-verification or /auth/request-password-reset.',
  FILE_CONTENT_MISMATCH: 'Send the file with the content type that it really has.',
  SUBSCRIPTION_EXISTS: 'Change it in the billing portal of the project.',
  SUBSCRIPTION_REQUIRED: 'Subscribe with POST /users/@me/projects/{id}/checkout.',
  CUSTOMER_REQUIRED: 'Subscribe with POST /users/@me/projects/{id}/checkout.',
  INVALID_SUBSCRIBE_URL: 'Subscribe this address in Amazon SNS again: it sends a new confirmation.',
  INVALID_NOTIFICATION:
    'Let the topic of Amazon SNS carry the events and received mail of Amazon SES alone, without ' +
    'raw delivery. Let nothing but Stripe sign with STRIPE_WEBHOOK_SECRET.',
  MISSING_SIGNATURE: 'Only Stripe calls this address; see that no proxy removes Stripe-Signature.',
  INVALID_SIGNATURE:
    'See that nothing between changes the body. Amazon signs what SNS sends; for Stripe, ' +
    'STRIPE_WEBHOOK_SECRET must be the secret of this very endpoint.',
  CAMPAIGN_NOT_EDITABLE: 'Edit a DRAFT, SCHEDULED or PAUSED campaign, or duplicate this one.',
  CAMPAIGN_SEGMENT_LOCKED: 'Cancel the campaign and duplicate it to give it another audience.',
  CAMPAIGN_NOT_SENDABLE: 'Duplicate the campaign to send it again.',
  CAMPAIGN_NOT_CANCELLABLE: 'Read its status with GET /campaigns/{id}: there is nothing to cancel.',
  CAMPAIGN_NOT_ARCHIVABLE: 'Wait until it was sent, or cancel it first.',
  CAMPAIGN_NOT_PAUSABLE: 'Cancel a SCHEDULED campaign; one that was sent cannot be called back.',
  CAMPAIGN_NOT_RESUMABLE: 'Read its status with GET /campaigns/{id}.',
  CAMPAIGN_NO_RECIPIENTS: 'Widen the audience, or add contacts that are subscribed.',
  SCHEDULE_IN_PAST: 'Give a time in the future, or leave it out to send now.',
  ROUTE_NOT_FOUND: 'See /openapi.json, or /docs/reference: they list every path and method.',
  EMAIL_NOT_PENDING: 'Read what became of it with GET /emails/{id}.',
  EMAIL_NOT_RESCHEDULABLE: 'Reschedule its campaign, or move the wait of its workflow.',
  CONTACT_UNSUBSCRIBED: 'Send with a TRANSACTIONAL template, or ask the contact to subscribe.',
  WORKFLOW_NOT_ENABLED: 'Enable the workflow with PATCH /workflows/{id}.',
  TRIGGER_STEP_REQUIRED: 'Delete the workflow instead, or change the event that starts it.',
  TRIGGER_STEP_EXISTS: 'Change the event of the workflow with PATCH /workflows/{id}.',
  SEGMENT_NOT_STATIC: 'Change the condition of the segment, or make a segment of type STATIC.',
  SEGMENT_NOT_TRACKED: 'Switch trackMembership on with PATCH /segments/{id}.',
  STEP_NOT_SPLICEABLE: 'Delete it without splice=true, then draw the transitions you want.',
  TRANSITION_SELF: 'Lead to another step; an execution that has to begin anew is a new execution.',
  TRANSITION_FROM_EXIT: 'Delete the exit step, or lead from the step before it.',
  TRANSITION_TO_TRIGGER: 'Lead to the step after the trigger instead.',
  TRANSITION_EXISTS: 'Delete the transition that is there, or insert a step into it.',
  TRANSITION_BRANCH_EXISTS: 'Delete the transition of this branch, or use another branch.',
  TRANSITION_LOOP: 'Lead to a step that does not lead back here.',
  FIELD_NOT_DELETABLE: 'Delete fields of data alone, such as data.plan.',
  CONSENT_SENDER_REQUIRED: 'Set the sender of the confirmation mail with PUT /consent-policy.',
  TOPIC_LIMIT: 'Delete topics that nothing uses; GET /topics lists them.',
  SECRET_LIMIT: 'Delete secrets that nothing uses; GET /secrets lists them.',
  EVENT_SUBSCRIPTION_LIMIT: 'Delete one that is not needed, or let one take more names of events.',
  EVENT_SUBSCRIPTION_NOT_ENABLED: 'Enable it with PATCH /event-subscriptions/{id}.',
  REPLAY_IN_PROGRESS: 'Wait until the replay in `details.jobId` has ended.',
  EVENT_DELIVERY_NOT_RETRYABLE: 'Nothing is left of it that could be sent.',
  RESERVED_EVENT: 'Delete events of your own; GET /events/names lists them.',
  MISSING_AUTH: 'Add the header, or log in and name the project with X-Project-Id.',
  INVALID_API_KEY: 'Use the secret key of the project; the public key only tracks events.',
  UNAUTHORIZED: 'Log in with POST /auth/login; an API key does not do here.',
  INVALID_CREDENTIALS:
    'Try again, or ask for a new password with POST /auth/request-password-reset.',
  BILLING_LIMIT_EXCEEDED:
    'Raise the limit with PUT /users/@me/projects/{id}/billing-limits, or subscribe.',
  FORBIDDEN: 'The message says what is not allowed, and nobody can allow it by this API.',
  PROJECT_ACCESS_DENIED: 'Ask an owner of the project for access, or name another project.',
  PROJECT_DISABLED: 'Reading still works. See reason in details, and ask whoever runs this server.',
  INSUFFICIENT_ROLE: 'Ask an owner of the project to do it, or to give you the role ADMIN.',
  EMAIL_VERIFICATION_REQUIRED: 'Follow the link in the mail, or ask for a new one.',
  REAUTHENTICATION_REQUIRED:
    'Log in again with POST /auth/login, or by GitHub or Google, then repeat the request.',
  ORIGIN_NOT_ALLOWED: 'Call from the dashboard, or from a server with an API key.',
  DOMAIN_NOT_REGISTERED: 'Add the domain with POST /domains and verify it.',
  DOMAIN_NOT_VERIFIED: 'Add the DNS records of the domain, then verify it.',
  TEST_RECIPIENT_NOT_ALLOWED: 'Send the test to the address of a member of the project.',
  OWNER_PROTECTED: 'Only deleting the project ends the role of its owner.',
  SELF_REMOVAL: 'Leave with DELETE /users/@me/projects/{id}/membership.',
  SIGNUPS_DISABLED: 'Ask whoever runs this server for an account.',
  BILLING_DISABLED: 'Whoever runs this server switches billing on with STRIPE_SECRET_KEY.',
  OAUTH_NOT_CONFIGURED: 'Log in with POST /auth/login; GET /auth/oauth-config lists other ways.',
  METHOD_NOT_ALLOWED: 'Use one of the methods in the header Allow.',
  IDEMPOTENCY_KEY_REUSED: 'Use a new Idempotency-Key for every new request.',
  IDEMPOTENCY_IN_PROGRESS: 'Repeat the request with the same key in some seconds.',
  CONFLICT: 'Read the current state, then decide anew.',
  MEMBER_EXISTS: 'Change the role with PATCH /projects/{id}/members/{userId}.',
  CONTACT_EXISTS: 'Change that contact instead; POST /contacts/lookup finds it.',
  CONTACT_SUPPRESSED:
    'Only the person can subscribe again; or take the address off with ' +
    'DELETE /suppression-list/{email}, if you know that they want it.',
  EMAIL_TAKEN: 'Log in with POST /auth/login, or reset the password.',
  TOPIC_EXISTS: 'Change that topic instead; GET /topics lists them.',
  DOMAIN_EXISTS: 'Remove it from the other project first, or use another domain.',
  CAMPAIGN_ACTIVE: 'Cancel the campaign first.',
  SEGMENT_IN_USE: 'Give what details lists another segment first.',
  DOMAIN_IN_USE: 'Give what details lists another sender first; PUT /consent-policy sets that one.',
  TEMPLATE_IN_USE: 'Give those steps, or the consent policy, another template first.',
  FIELD_IN_USE: 'Change the conditions of what details lists first.',
  EVENT_IN_USE: 'Change the conditions and triggers of what details lists first.',
  TOPIC_IN_USE: 'Give what details lists another topic first, or none.',
  SECRET_IN_USE: 'Change the steps that details lists first.',
  WORKFLOW_HAS_ACTIVE_EXECUTIONS:
    'Cancel them with POST /workflows/{id}/executions/cancel-all, or disable the workflow.',
  EXECUTION_EXISTS:
    'An active one ends or is cancelled first: see details. Then allowReentry, which ' +
    'PATCH /workflows/{id} sets, lets the contact in again.',
  EXECUTION_NOT_FAILED: 'Only FAILED executions are tried again; start a new one instead.',
  EXECUTION_NOT_ACTIVE: 'Only RUNNING and WAITING executions can be acted on: it is over.',
  EXECUTION_PAUSED: 'Let it go on with POST /workflows/{id}/executions/{executionId}/resume.',
  EXECUTION_NOT_PAUSED:
    'If its workflow is paused, release that with PATCH /workflows/{id} {"paused": false}.',
  EXECUTION_NOT_WAITING:
    'Only a WAITING one has an end to move. A paused one whose wait is over goes on with resume.',
  EXECUTION_NOT_SKIPPABLE:
    'A WAITING, SCHEDULED or FAILED step can be skipped. A step at work ends first.',
  PAYLOAD_TOO_LARGE: 'Send less at once; /docs says how much this endpoint takes.',
  UPLOAD_QUOTA_EXCEEDED:
    'Upload a smaller file, or ask the operator of the server for a larger UPLOAD_QUOTA_MB.',
  FILE_TOO_LARGE: 'Send a smaller file, or split it; /docs says how much this endpoint takes.',
  MESSAGE_TOO_LARGE: 'Link to large files instead of attaching them, and shorten the body.',
  UNSUPPORTED_MEDIA_TYPE: 'Send the request as the message says.',
  VALIDATION_ERROR: 'Correct the fields listed in errors.',
  STATS_TOO_HEAVY: 'Ask for a shorter period, or for one version.',
  CONDITION_TOO_HEAVY: 'Use fewer filters, or equals in place of contains.',
  WORKFLOW_INVALID: 'Mend the steps listed in errors, then enable the workflow again.',
  PICTURE_TOO_LARGE: 'Read it with GET /workflows/{id}.',
  SIMULATION_TOO_LARGE: 'Simulate a part of the workflow, as a graph of its own.',
  INVALID_EMAIL: 'Sign up with an address that receives mail and is not made for one use.',
  RATE_LIMIT_EXCEEDED: 'Wait for the seconds named in Retry-After.',
  INTERNAL_SERVER_ERROR: 'Try again later; name the requestId when you ask for help.',
  UPLOADS_DISABLED: 'Whoever runs this server switches uploads on with STORAGE_DRIVER.',
  SERVICE_UNAVAILABLE: 'Try again later; GET /health/ready tells which service is away.',
};

/** The next thing to do about an error, in one or two sentences. */
export function suggestionFor(code: ProblemCode): string {
  return isNotFound(code) ? 'Check the ids in the path and in the body.' : suggestions[code];
}

function isNotFound(code: ProblemCode): code is NotFound {
  return code.endsWith('_NOT_FOUND') && code !== 'ROUTE_NOT_FOUND';
}
