import { passkeyEndpoints } from './accounts/factors/passkeys.ts';
import { breakGlassEndpoints } from './accounts/factors/break-glass.ts';
import { signInPolicyEndpoints } from './projects/sign-in-policy.ts';
import { factorEndpoints } from './accounts/factors/factors.ts';
import { secondFactorEndpoints } from './accounts/factors/second-factor.ts';
import { listWorkflowFirings } from './workflows/firings.ts';
import type { AnyEndpoint, ListedEndpoint } from './http/endpoint.ts';
import { activityEndpoints } from './activity/activity.ts';
import { analyticsEndpoints } from './activity/analytics.ts';
import { bulkEndpoints } from './selection/bulk.ts';
import { countCampaignAudience } from './campaigns/audience.ts';
import { campaignEndpoints } from './campaigns/campaigns.ts';
import { consentLogEndpoints } from './consent/log.ts';
import { consentPolicyEndpoints } from './consent/policy.ts';
import { contactEndpoints } from './contacts/contacts.ts';
import { exportContacts } from './selection/export.ts';
import { queryContacts } from './selection/query.ts';
import { erasureEndpoints } from './privacy/erasures.ts';
import { exportEndpoints } from './privacy/export.ts';
import { contactFieldEndpoints } from './contacts/fields.ts';
import { importEndpoints } from './contacts/import.ts';
import { lookUpContacts } from './contacts/lookup.ts';
import { jobEndpoints } from './contacts/jobs.ts';
import { getTimeline } from './contacts/timeline.ts';
import { publicContactEndpoints } from './contacts/public.ts';
import { getDelivery } from './delivery/delivery.ts';
import { domainEndpoints } from './domains/domains.ts';
import { emailEndpoints } from './emails/emails.ts';
import { waitingEmailEndpoints } from './emails/waiting.ts';
import { eventEndpoints } from './events/events.ts';
import { applyEndpoints } from './files/applying/apply.ts';
import { fileEndpoints } from './files/files.ts';
import { planEndpoints } from './files/planning/plans.ts';
import { schemaEndpoints } from './files/schemas.ts';
import { executionEndpoints } from './executions/executions.ts';
import { listExecutionGroups } from './executions/groups.ts';
import { findExecutions } from './executions/search.ts';
import { executionJobEndpoints } from './executions/execution-jobs.ts';
import { actEndpoints } from './executions/acts.ts';
import { checkWorkflow } from './workflows/check.ts';
import { dryRunEdit } from './workflows/dry-run.ts';
import { getExecutionPicture, getWorkflowPicture } from './workflows/pictures/pictures.ts';
import { getWorkflowStats } from './workflows/pictures/stats.ts';
import { listCampaignLinks, listStepLinks, listTemplateLinks } from './engagement/links.ts';
import { listStepRecipients } from './workflows/step-recipients.ts';
import { simulateExecution } from './workflows/simulate.ts';
import { billingEndpoints } from './billing/billing.ts';
import { invoiceEndpoints } from './billing/invoices.ts';
import { loginEndpoints } from './accounts/login.ts';
import { invitationEndpoints } from './projects/invitations.ts';
import { memberEndpoints } from './projects/members.ts';
import { oauthEndpoints } from './accounts/oauth.ts';
import { oidcEndpoints } from './accounts/oidc/endpoints.ts';
import { identityEndpoints } from './accounts/oidc/identities.ts';
import { removalEndpoints } from './projects/removal.ts';
import { sessionEndpoints } from './accounts/sessions.ts';
import { securityEndpoints } from './accounts/security.ts';
import { routingEndpoints } from './routing/routing.ts';
import { linkPolicyEndpoints } from './projects/link-policy.ts';
import { getHoldoutReport } from './projects/holdout-report.ts';
import { holdoutEndpoints } from './projects/holdout.ts';
import { sendPolicyEndpoints } from './projects/send-policy.ts';
import { setupEndpoints } from './projects/setup.ts';
import { verificationEndpoints } from './accounts/verification.ts';
import { mailboxEndpoints } from './emails/mailbox.ts';
import { metaEndpoints } from './meta/meta.ts';
import { confirmPages } from './pages/confirm.ts';
import { managePages } from './pages/manage.ts';
import { optOutPages } from './pages/opt-out.ts';
import { send } from './public/send.ts';
import { sendBatch } from './public/send-batch.ts';
import { track } from './public/track.ts';
import { verify } from './public/verify.ts';
import { keyEndpoints } from './keys/keys.ts';
import { providerEndpoints } from './providers/providers.ts';
import { projectEndpoints } from './projects/projects.ts';
import { requestEndpoints } from './requests/requests.ts';
import { securityEventEndpoints } from './security-events/security-events.ts';
import { suppressionEndpoints } from './suppression/list.ts';
import { uploadEndpoints } from './uploads/uploads.ts';
import { paymentEndpoints } from './webhooks/payments.ts';
import { userEndpoints } from './accounts/users.ts';
import { secretEndpoints } from './projects/secrets.ts';
import { subscriptionEndpoints } from './subscriptions/subscriptions.ts';
import { listContactSegments } from './segments/members.ts';
import { segmentEndpoints } from './segments/segments.ts';
import { testTemplate } from './templates/trial.ts';
import { templateEndpoints } from './templates/templates.ts';
import { contactTopicEndpoints } from './topics/contact-topics.ts';
import { topicEndpoints } from './topics/topics.ts';
import { trackingEndpoints } from './emails/tracking.ts';
import { feedbackEndpoints } from './webhooks/feedback.ts';
import { receiveMime } from './webhooks/incoming.ts';
import { receiveProviderEvents } from './webhooks/providers.ts';
import { rampEndpoints } from './ramps/ramps.ts';
import { restoreVersion } from './workflows/versions/restore.ts';
import { getVersion, listVersions } from './workflows/versions/versions.ts';
import { workflowEndpoints } from './workflows/workflows.ts';

/** The endpoints, by chapter of the documentation. */
const chapters: readonly (readonly [name: string, endpoints: readonly AnyEndpoint[]])[] = [
  ['Public API', [send, sendBatch, track, verify]],
  ['Contacts', contactEndpoints],
  ['Campaigns', [...campaignEndpoints, listCampaignLinks, countCampaignAudience]],
  ['Emails', [...emailEndpoints, ...waitingEmailEndpoints, getDelivery]],
  ['Contacts', [getTimeline, ...erasureEndpoints, ...exportEndpoints, ...consentLogEndpoints]],
  ['Topics', [...contactTopicEndpoints, ...topicEndpoints]],
  ['Contacts', [queryContacts, exportContacts, lookUpContacts, listContactSegments]],
  ['Contacts', [...contactFieldEndpoints, ...importEndpoints]],
  ['Contacts', [...bulkEndpoints, ...jobEndpoints]],
  ['Opt-out', [...publicContactEndpoints, ...optOutPages, ...managePages, ...confirmPages]],
  ['Tracking', trackingEndpoints],
  ['Webhook receivers', [...feedbackEndpoints, receiveMime, receiveProviderEvents]],
  ['Events', eventEndpoints],
  ['Event subscriptions', subscriptionEndpoints],
  ['Activity', activityEndpoints],
  ['Analytics', analyticsEndpoints],
  ['Workflows', [...executionEndpoints, findExecutions, listExecutionGroups]],
  ['Workflows', executionJobEndpoints],
  ['Workflows', [...actEndpoints, checkWorkflow, simulateExecution, dryRunEdit]],
  ['Workflows', [listWorkflowFirings, getWorkflowStats, listStepRecipients, listStepLinks]],
  ['Workflows', [getWorkflowPicture, getExecutionPicture]],
  ['Accounts', [...loginEndpoints, ...verificationEndpoints, ...oauthEndpoints, ...oidcEndpoints]],
  ['Accounts', [...userEndpoints, ...sessionEndpoints, ...identityEndpoints]],
  ['Accounts', [...factorEndpoints, ...secondFactorEndpoints, ...passkeyEndpoints]],
  ['Accounts', breakGlassEndpoints],
  ['Projects', [...projectEndpoints, ...removalEndpoints, ...memberEndpoints]],
  ['Projects', [...invitationEndpoints, ...setupEndpoints, ...securityEndpoints]],
  ['Billing', [...billingEndpoints, ...invoiceEndpoints]],
  ['Webhooks', paymentEndpoints],
  ['Uploads', uploadEndpoints],
  ['Files', [...fileEndpoints, ...planEndpoints, ...applyEndpoints, ...schemaEndpoints]],
  ['Domains', domainEndpoints],
  ['Mail providers', [...providerEndpoints, ...routingEndpoints]],
  ['Local mailbox', mailboxEndpoints],
  ['API keys', keyEndpoints],
  ['Requests', requestEndpoints],
  ['Security events', securityEventEndpoints],
  ['Secrets', secretEndpoints],
  ['Ramps', rampEndpoints],
  [
    'Projects',
    [
      ...sendPolicyEndpoints,
      ...linkPolicyEndpoints,
      ...holdoutEndpoints,
      getHoldoutReport,
      ...consentPolicyEndpoints,
      ...signInPolicyEndpoints,
    ],
  ],
  ['Suppression list', suppressionEndpoints],
  ['Segments', segmentEndpoints],
  ['Templates', [...templateEndpoints, listTemplateLinks, testTemplate]],
  ['Workflows', [...workflowEndpoints, listVersions, getVersion, restoreVersion]],
  ['Server', metaEndpoints(() => endpoints)],
];

/**
 * Every endpoint of the API. Routes, documentation and the tests of all endpoints use this list.
 */
export const endpoints: readonly ListedEndpoint[] = chapters.flatMap(([chapter, declared]) =>
  declared.map((endpoint) => ({ ...endpoint, chapter })),
);
