import type { ProblemCode } from '../../domain/errors.ts';

type NotFound = Exclude<Extract<ProblemCode, `${string}_NOT_FOUND`>, 'ROUTE_NOT_FOUND'>;

/**
 * Advice by error code, for errors without their own advice. A `…_NOT_FOUND` error that is not
 * listed gets the advice to check the ids.
 */
const suggestions: Record<Exclude<ProblemCode, NotFound>, string> &
  Partial<Record<NotFound, string>> = {
  USER_NOT_FOUND: 'Check the address, or ask the person to sign up first.',
  VERSION_NOT_FOUND: 'Check the number; GET /workflows/{id}/versions lists the versions.',
  PROVIDER_NOT_FOUND: 'Check the id; GET /providers lists the providers.',
  SECRET_NOT_FOUND: 'Check the name; GET /secrets lists the secrets of the project.',
  SUPPRESSION_NOT_FOUND: 'Check the address; GET /suppression-list lists the entries.',
  PLAN_NOT_FOUND:
    'Make a new plan with POST /plan. Open plans are kept for seven days, the last ten of a project.',
  REQUEST_NOT_FOUND:
    'Check the id: the response to the request has it in the header X-Request-ID. A new request is listed within 10 seconds.',
  FILE_NOT_FOUND:
    'Check the key: the last two parts of the URL of the file, for example <id>/<id>.png. GET /uploads lists the keys.',
  INVALID_REQUEST_BODY: 'Correct the body. /docs/reference shows an example for each endpoint.',
  PROJECT_ID_REQUIRED: 'Send the id of a project from GET /users/@me/projects as X-Project-Id.',
  INVALID_IDEMPOTENCY_KEY: 'For example, send a new uuid as Idempotency-Key.',
  INVALID_TOKEN:
    'Ask for a new link with POST /auth/request-verification or /auth/request-password-reset.',
  FILE_CONTENT_MISMATCH: 'In the form, set the content type of the file to its real format.',
  SUBSCRIPTION_EXISTS: 'Change the subscription in the billing portal of the project.',
  SUBSCRIPTION_REQUIRED: 'Subscribe with POST /users/@me/projects/{id}/checkout.',
  CUSTOMER_REQUIRED: 'Subscribe with POST /users/@me/projects/{id}/checkout.',
  INVALID_SUBSCRIBE_URL:
    'Subscribe the URL of this webhook in Amazon SNS again. Amazon SNS then sends a new confirmation.',
  INVALID_NOTIFICATION:
    'For Amazon SNS: publish only events and received mail of Amazon SES to the topic, and switch off raw message delivery. For Stripe: use the secret in STRIPE_WEBHOOK_SECRET only for this endpoint.',
  MISSING_SIGNATURE:
    'Only Stripe calls this address. Check that no proxy removes the header Stripe-Signature.',
  INVALID_SIGNATURE:
    'Check that no proxy changes the body. For Stripe, STRIPE_WEBHOOK_SECRET must be the secret ' +
    'of this endpoint.',
  CAMPAIGN_NOT_EDITABLE: 'Duplicate the campaign, and edit the copy.',
  CAMPAIGN_SEGMENT_LOCKED: 'Cancel the campaign and duplicate it to give it another audience.',
  CAMPAIGN_NOT_SENDABLE: 'Duplicate the campaign to send it again.',
  CAMPAIGN_NOT_CANCELLABLE:
    'Delete a DRAFT with DELETE /campaigns/{id}. A campaign that is SENT cannot be recalled.',
  CAMPAIGN_NOT_ARCHIVABLE:
    'Wait until it is SENT (resume it first if it is PAUSED), or cancel it with ' +
    'POST /campaigns/{id}/cancel.',
  CAMPAIGN_NOT_PAUSABLE:
    'If the campaign is SCHEDULED, cancel it instead. Sent mail cannot be recalled.',
  CAMPAIGN_NOT_RESUMABLE:
    'Send a DRAFT with POST /campaigns/{id}/send. A campaign that is SENDING needs no resume.',
  EXPERIMENT_NOT_RUNNING:
    'Send the campaign first. A cancelled one cannot be decided; duplicate it.',
  EXPERIMENT_NOT_FOUND: 'Give a draft an `experiment` with PUT /campaigns/{id}.',
  EXPERIMENT_DECIDED: 'GET /campaigns/{id}/experiment shows the decision. It cannot be changed.',
  CAMPAIGN_NO_RECIPIENTS: 'Choose a larger audience, or add contacts that are subscribed.',
  CAMPAIGN_NOT_FINISHED: 'Wait until it is SENT.',
  SCHEDULE_IN_PAST: 'Give a time in the future, or leave the time out to send now.',
  ROUTE_NOT_FOUND: 'Find the path in /docs/reference or /openapi.json.',
  PRECONDITION_FAILED: 'Read the record again, and send your change with its new ETag as If-Match.',
  EMAIL_NOT_PENDING:
    'Only a PENDING email can be cancelled or rescheduled. GET /emails/{id} shows what happened to it.',
  EMAIL_NOT_RESCHEDULABLE:
    'For mail of a campaign, reschedule the campaign. For mail of a workflow, move the wait of its execution.',
  CONTACT_UNSUBSCRIBED: 'Send with a TRANSACTIONAL template, or ask the contact to subscribe.',
  WORKFLOW_NOT_ENABLED: 'Enable the workflow with PATCH /workflows/{id}.',
  TRIGGER_STEP_REQUIRED: 'Delete the workflow instead, or change the event that starts it.',
  TRIGGER_STEP_EXISTS:
    'To start the workflow by another event, change its event with PATCH /workflows/{id}.',
  SEGMENT_NOT_STATIC: 'Change the condition of the segment, or make a segment of type STATIC.',
  SEGMENT_NOT_TRACKED: 'Set `trackMembership` to true with PATCH /segments/{id}.',
  STEP_NOT_SPLICEABLE:
    'Delete the step without `splice=true`, then create the transitions that you want.',
  TRANSITION_SELF:
    'Choose another step. To repeat a workflow for a contact, start a new execution.',
  TRANSITION_FROM_EXIT:
    'Let the transition begin at the step before the EXIT step, or delete the EXIT step.',
  TRANSITION_TO_TRIGGER:
    'Choose another target. A contact enters the workflow again by a new execution.',
  TRANSITION_EXISTS: 'Delete the existing transition, or insert a step into it.',
  TRANSITION_BRANCH_EXISTS: 'Delete the transition of this branch, or use another branch.',
  TRANSITION_LOOP: 'Choose a `toStepId` from which no path leads to `fromStepId`.',
  FIELD_NOT_DELETABLE: 'Only fields inside `data` can be deleted, such as `data.plan`.',
  CONSENT_SENDER_REQUIRED: 'Set its sender (`from`) with PUT /consent-policy.',
  RAMP_LIMIT: 'Delete a ramp that is DONE; GET /ramps lists the ramps.',
  TOPIC_LIMIT: 'Delete topics that nothing uses; GET /topics lists the topics.',
  PROVIDER_LIMIT: 'Delete providers that are in no route; GET /providers lists the providers.',
  FACTOR_LIMIT: 'Remove a factor with DELETE /users/@me/factors/{id}.',
  INVALID_LOGOUT_TOKEN: 'Send a new logout token that the provider has signed for this client.',
  INVALID_PASSKEY:
    'Get new options with POST /users/@me/factors/passkey/options, and let the browser create the passkey again.',
  API_KEY_LIMIT: 'Revoke keys that nothing uses; GET /api-keys lists the keys.',
  SECRET_LIMIT: 'Delete secrets whose `usedIn` is empty; GET /secrets lists the secrets.',
  EVENT_SUBSCRIPTION_LIMIT:
    'Delete a subscription that you do not need, or add the event names to an existing one.',
  EVENT_SUBSCRIPTION_NOT_ENABLED: 'Enable it with PATCH /event-subscriptions/{id}.',
  REPLAY_IN_PROGRESS: 'Wait until the replay in `details.jobId` has ended.',
  EVENT_DELIVERY_NOT_RETRYABLE: 'Retry only deliveries whose event still exists.',
  RESERVED_EVENT: 'Only your own events can be deleted; GET /events/names lists them.',
  MISSING_AUTH:
    'Add this header. Or log in, and send the id of the project in the header X-Project-Id.',
  INVALID_API_KEY: 'Use a secret key of the project. The public key can only track events.',
  UNAUTHORIZED: 'Log in with POST /auth/login. This endpoint does not accept API keys.',
  INVALID_CREDENTIALS:
    'Try again, or ask for a new password with POST /auth/request-password-reset.',
  SECOND_FACTOR_PENDING:
    'Send a code to POST /auth/second-factor within five minutes, with the cookie of this response.',
  INVALID_CODE: 'Wait for the next code of the app, or use a recovery code.',
  BILLING_LIMIT_EXCEEDED:
    'Raise the limit with PUT /users/@me/projects/{id}/billing-limits, or subscribe.',
  FORBIDDEN: 'Ask the operator of this server.',
  PROJECT_ACCESS_DENIED:
    'Ask the owner of the project for access, or use a project of which you are a member.',
  PROJECT_DISABLED:
    'Ask the operator of this server to enable the project. `details.reason` has the reason. Requests that only read still work.',
  INSUFFICIENT_ROLE: 'Ask the owner of the project to do it, or to give you the role ADMIN.',
  INSUFFICIENT_SCOPE: 'Use a key that has the scope in `details.needed`.',
  KEY_RESTRICTED:
    'Use another key. `details.restriction` names the restriction, and `details.received` is the value that it refused.',
  SESSION_REQUIRED:
    'Log in with POST /auth/login, and repeat the request with the session cookie instead of the key.',
  PASSWORD_SIGN_IN_DISABLED: 'Sign in another way; GET /auth/methods lists the ways to sign in.',
  SSO_REQUIRED:
    'Sign in at GET /oauth/oidc/{provider}/outbound, with `details.provider` as {provider}.',
  EMAIL_VERIFICATION_REQUIRED:
    'Follow the link in the mail, or get a new one with POST /auth/request-verification.',
  SECOND_FACTOR_REQUIRED:
    'Use the second factor with POST /auth/second-factor. If the account has none, first add one.',
  REAUTHENTICATION_REQUIRED:
    'Log in again with POST /auth/login, or use the second factor with POST /auth/second-factor. ' +
    '`details.methods` lists what your account can use.',
  ORIGIN_NOT_ALLOWED: 'Send the request from the dashboard, or from a server with an API key.',
  DOMAIN_NOT_REGISTERED: 'Add the domain with POST /domains and verify it.',
  DOMAIN_NOT_VERIFIED: 'Add the DNS records of the domain, then verify it.',
  TEST_RECIPIENT_NOT_ALLOWED: 'Send the test to the address of a member of the project.',
  OWNER_PROTECTED: 'Choose another member. The owner of a project cannot be replaced.',
  SELF_REMOVAL: 'Leave the project with DELETE /users/@me/projects/{id}/membership.',
  SIGNUPS_DISABLED: 'Ask the operator of this server for an account.',
  BILLING_DISABLED: 'The operator of this server can switch billing on with STRIPE_SECRET_KEY.',
  OAUTH_NOT_CONFIGURED: 'Log in with POST /auth/login; GET /auth/oauth-config lists other ways.',
  METHOD_NOT_ALLOWED: 'Use one of the methods in the header Allow.',
  IDEMPOTENCY_KEY_REUSED: 'Use a new Idempotency-Key for every new request.',
  IDEMPOTENCY_IN_PROGRESS: 'Repeat the request with the same key in a few seconds.',
  CONFLICT: 'Read the current data again, then correct the request.',
  MEMBER_MANAGED:
    'The role follows from the groups of the user at the identity provider. Change these groups, or the rule with PUT /users/@me/projects/{id}/sign-in-policy.',
  MEMBER_EXISTS: 'Change the role with PATCH /projects/{id}/members/{userId}.',
  CONTACT_EXISTS: 'Change that contact instead; POST /contacts/lookup finds it.',
  CONTACT_SUPPRESSED:
    'Ask the person to subscribe again, by a link or a form. If the person has already asked you for mail, remove the address with DELETE /suppression-list/{email}.',
  EMAIL_TAKEN: 'Log in with POST /auth/login, or reset the password.',
  FACTOR_NEEDED: 'First add a second factor with POST /users/@me/factors/totp.',
  LAST_SIGN_IN_METHOD: 'First link another provider with POST /users/@me/identities.',
  API_KEY_EXPIRED: 'Send a new `expiresAt` when you rotate the key.',
  RAMP_EXISTS: 'Delete the ramp in `details.id`, or wait until it is DONE.',
  RAMP_NOT_RUNNING: 'GET /ramps/{id} shows its status. A PAUSED or STOPPED ramp can be resumed.',
  RAMP_NOT_PAUSED:
    'A RUNNING ramp needs no resume. If it is DONE, make a new one with POST /ramps.',
  TOPIC_EXISTS: 'Change that topic instead; GET /topics lists them.',
  DOMAIN_NOT_SIGNING:
    'To sign with keys of Everpost, first set `signing` to `own` with PATCH /domains/{id}.',
  KEY_ROTATION_PENDING:
    'Add the record `dkim_next` of the domain to DNS. Then GET /domains/{id}/verify starts to use the new key.',
  DOMAIN_EXISTS:
    'If the domain is in another project of yours, remove it there. Otherwise use another domain, such as a subdomain.',
  CAMPAIGN_ACTIVE: 'Cancel the campaign first, with POST /campaigns/{id}/cancel.',
  SEGMENT_IN_USE: 'First choose another segment for everything that `details` lists.',
  DOMAIN_IN_USE:
    'First choose another sender for everything that `details` lists. PUT /consent-policy sets the ' +
    'sender of confirmation mail.',
  TEMPLATE_IN_USE:
    'First choose another template for the steps and experiments that `details` lists. If `details` has `consentPolicy`, also choose another template with PUT /consent-policy.',
  FIELD_IN_USE: 'First remove the field from the conditions of everything that `details` lists.',
  EVENT_IN_USE:
    'First remove the event from the conditions and triggers of everything that `details` lists.',
  TOPIC_IN_USE: 'First choose another topic, or none, for everything that `details` lists.',
  PROVIDER_EXISTS: 'Choose another name, or change the existing provider with PATCH.',
  PROVIDER_IN_USE:
    'Disable it with PATCH /providers/{id}, remove it from routes and ramps, and wait until its mail has been sent.',
  SECRET_IN_USE:
    'First remove the secret from the steps and event subscriptions that `details` lists.',
  PLAN_STALE: 'Make a new plan with POST /plan, and apply that one.',
  PLAN_BLOCKED:
    'Remove what prevents the changes that `details` lists: POST /plan shows it as `blocked`. Or keep these objects, with `protect`.',
  WORKFLOW_HAS_ACTIVE_EXECUTIONS:
    'Cancel them with POST /workflows/{id}/executions/cancel-all, then delete again. Or keep the ' +
    'workflow, and disable it with PATCH /workflows/{id}.',
  EXECUTION_EXISTS:
    'If `details` names an active execution, wait until it ends, or cancel it. To let contacts enter more often, change `reentry` with PATCH /workflows/{id}.',
  EXECUTION_NOT_FAILED:
    'A RUNNING or WAITING execution continues by itself. If the execution has ended, start a new one.',
  EXECUTION_NOT_ACTIVE: 'Choose a RUNNING or WAITING execution, or start a new one.',
  EXECUTION_PAUSED: 'Resume it with POST /workflows/{id}/executions/{executionId}/resume.',
  EXECUTION_NOT_PAUSED:
    'If its workflow is paused, resume that with PATCH /workflows/{id} {"paused": false}.',
  EXECUTION_NOT_WAITING:
    'Only the wait of a WAITING execution can be moved. If the execution is paused and its wait is ' +
    'over, resume it.',
  EXECUTION_NOT_SKIPPABLE:
    'A WAITING, SCHEDULED or FAILED step can be skipped. A RUNNING step must end first.',
  PAYLOAD_TOO_LARGE: 'Send less in one request. The limit of this endpoint is in /docs/reference.',
  UPLOAD_QUOTA_EXCEEDED:
    'Upload a smaller file, or ask the operator of the server for a larger UPLOAD_QUOTA_MB.',
  FILE_TOO_LARGE:
    'Send a smaller file, or split it. The limit of this endpoint is in /docs/reference.',
  MESSAGE_TOO_LARGE: 'Link to large files instead of attaching them, and shorten the body.',
  UNSUPPORTED_MEDIA_TYPE:
    'Send the body in the format that `message` names, and set the header Content-Type to it.',
  VALIDATION_ERROR:
    'Correct the fields that `errors` lists. The `message` of each field describes its fault.',
  STATS_TOO_HEAVY:
    'Ask for a shorter period, or for one version of a workflow. For a picture, send one `version`, ' +
    'or leave out `stats`.',
  CONDITION_TOO_HEAVY: 'Use fewer filters, or the operator `equals` instead of `contains`.',
  WORKFLOW_INVALID: 'Correct the steps that `errors` lists, then enable the workflow again.',
  PICTURE_TOO_LARGE: 'Read the steps and transitions with GET /workflows/{id} instead.',
  SIMULATION_TOO_LARGE: 'Send a smaller part of the workflow as `graph`.',
  INVALID_EMAIL: 'Sign up with an address that can receive mail and is not disposable.',
  RATE_LIMIT_EXCEEDED: 'Wait for the seconds in the header Retry-After, then repeat the request.',
  INTERNAL_SERVER_ERROR:
    'Repeat the request later. If it fails again, give the `requestId` to the operator of this server, who finds the cause in the log.',
  UPLOADS_DISABLED: 'The operator of this server can switch uploads on with STORAGE_DRIVER.',
  SERVICE_UNAVAILABLE:
    'Wait for the seconds in the header Retry-After, then repeat the request. GET /health/ready ' +
    'shows whether PostgreSQL and Temporal respond.',
};

/** Returns the next step after an error, in one or two sentences. */
export function suggestionFor(code: ProblemCode): string {
  return suggestions[code] ?? 'Check the ids in the path and in the body.';
}
