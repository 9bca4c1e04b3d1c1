/** Fixed limits of the API. Sizes are in bytes, lengths of texts in characters. */
export const limits = {
  /** Messages and rows of a kind that are counted for a metric. */
  countedForMetrics: 10_000,
  /** Longest chain of executions in which each was started by an event of the one before. */
  chainDepth: 10,
  /** Executions that events of other executions may start, per workflow, contact and hour. */
  causedPerHour: 100,
  /** Active executions of one contact in a workflow that runs them in parallel. */
  parallelExecutions: 100,
  /** Active executions of one contact in one workflow, each with another key. */
  activeKeys: 1000,
  /** Length of an execution key, and of the path under which an event has the key. */
  executionKeyChars: 200,
  reentrySecondsMax: 31_536_000,
  /** Bytes of a body that anyone may send without credentials. */
  openBodyBytes: 16 * 1024,
  /** Bytes of a body that contains no mail text. */
  jsonBodyBytes: 1024 * 1024,
  /** Bytes of the body with a template or a campaign. */
  contentBodyBytes: 5 * 1024 * 1024,
  /** Bytes of the body with the files of a plan. */
  planBodyBytes: 20 * 1024 * 1024,
  /** Bytes of the body with a mail to be sent and its attachments. */
  sendBodyBytes: 50 * 1024 * 1024,
  nameChars: 100,
  descriptionChars: 500,
  subjectChars: 998,
  /** Shorter than a header value, because the name and the value share a line. */
  headerNameChars: 500,
  headerValueChars: 998,
  recipients: 1000,
  /** Addresses that one request puts on the suppression list. */
  suppressions: 1000,
  batchMessages: 500,
  scheduleDaysMax: 730,
  contactDataBytes: 64 * 1024,
  contactDataKeys: 500,
  contactDataKeyChars: 100,
  /** Columns of one export of contacts, and characters of a column's name. */
  exportedColumns: 100,
  exportedColumnChars: 120,
  eventDataBytes: 64 * 1024,
  eventNameChars: 100,
  pageSize: 100,
  pageSizeDefault: 20,
  eventListMax: 1000,
  eventListDefault: 100,
  contactEventsDefault: 50,
  activityPage: 100,
  activityPageDefault: 50,
  activityMinutes: 60,
  activityMinutesDefault: 5,
  activityDaysAhead: 90,
  activityDaysAheadDefault: 30,
  analyticsDays: 90,
  seriesPoints: 1000,
  topCampaigns: 50,
  topCampaignsDefault: 10,
  topEvents: 20,
  topEventsDefault: 5,
  delayDaysMax: 365,
  waitSecondsMax: 31_536_000,
  exitReasonChars: 200,
  /** The largest `max` of a DIGEST, which closes early after `max` events. */
  digestEventsMax: 1000,
  /** Events that a DIGEST puts into the context, and their bytes as JSON. */
  digestEvents: 100,
  digestBytes: 32 * 1024,
  /** Characters of a UTM value, and hosts of a link policy. */
  utmChars: 100,
  utmHosts: 50,
  /** Frequency caps of a project, and the largest number of messages and of days of a cap. */
  caps: 5,
  capMail: 1000,
  capDays: 365,
  holdoutPercent: 20,
  /** Arms of an experiment, and its longest duration. */
  experimentArms: 5,
  experimentSecondsMax: 14 * 86_400,
  holdoutSaltChars: 64,
  holdoutScopeIds: 100,
  valueFieldChars: 200,
  goalWindowDays: 90,
  /** Number of a contact's newest mails to which an event can be attributed. */
  goalMails: 1_000,
  /** Characters of the name of the contact field with the time zone. */
  zoneFieldChars: 200,
  zoneChars: 64,
  /** Largest sending rate that a campaign may set, in messages per minute. */
  mailPerMinuteMax: 1_000_000,
  /** Characters of the customer's description of how a contact consented. */
  proofTextChars: 2000,
  proofAgentChars: 500,
  /** Longest delay of the reminder and the expiry of an opt-in request: a year. */
  optInSeconds: 31_536_000,
  /** Topics of a project, and topics in one request. */
  topics: 100,
  /** Named keys of a project that are not revoked. */
  apiKeys: 50,
  /** Second factors of a user. */
  factors: 10,
  /** Accounts at identity providers with which one user can sign in. */
  identities: 50,
  /** Rules of a project that make users of identity providers members. */
  signInRules: 50,
  claimChars: 100,
  claimValueChars: 200,
  /** Items in each list of a named key. */
  apiKeyItems: 50,
  /** Longest time for which the old key stays valid after a rotation: seven days. */
  keyOverlapSeconds: 604_800,
  keyLifeYears: 10,
  /** Ramps of a project, including finished ones. */
  ramps: 20,
  rampDays: 90,
  rampStartPerDay: 1_000_000,
  /** Entries of a contact's consent log that the API lists. */
  consentLines: 1000,
  /** Secrets of a project, characters of a secret, and hosts of one secret. */
  secrets: 50,
  secretChars: 4096,
  secretHosts: 10,
  /**
   * Mail providers of a project, characters of a credential, and sender domains of one provider.
   */
  providers: 20,
  credentialChars: 500,
  feedbackSecretChars: 1000,
  providerDomains: 100,
  /**
   * Routes of a project, providers of a route, items of each part of its match, and the largest
   * weight.
   */
  routes: 50,
  routeProviders: 10,
  routeItems: 100,
  routeWeight: 1000,
  /** Event subscriptions of a project, and characters of a subscription's URL. */
  subscriptions: 20,
  subscriptionUrlChars: 2000,
  subscriptionItems: 50,
  subscriptionHeaders: 20,
  /** Bytes of all header names and values of a subscription together. */
  subscriptionHeaderBytes: 8 * 1024,
  /** Days that a replay may go back. Deliveries are kept for the same number of days. */
  replayDays: 30,
  /** Deliveries in one request, and bytes of its body. */
  subscriptionBatch: 100,
  subscriptionBatchBytes: 1_048_576,
  /** Attempts that a delivery lists, and bytes that it stores of a response. */
  deliveryAttempts: 20,
  deliveryResponseBytes: 1024,
  conditionBranches: 20,
  /** Conditions of a trigger or of a wait. */
  whereItems: 10,
  /**
   * Characters of a value in a condition of a trigger or wait, as JSON. The limit is low, because
   * each event may be compared with a thousand waits.
   */
  whereValueChars: 1000,
  /** Filters of one condition in all its groups, and levels of nested conditions. */
  filters: 100,
  filterDepth: 5,
  /** Characters of a field name in a filter: more than any real path has. */
  filterFieldChars: 1000,
  /** Segments that a condition refers to, directly or indirectly. */
  segmentReach: 50,
  segmentMembersAtOnce: 500,
  /** Links of a campaign, a template or a step that have a click count of their own. */
  linksMax: 500,
  linkIdChars: 100,
  /** Milliseconds that PostgreSQL may take to evaluate a condition over all contacts. */
  conditionTimeMs: 20_000,
  /** Milliseconds that PostgreSQL may take for one statistic of a workflow. */
  statsTimeMs: 20_000,
  bulkIds: 1000,
  bulkExcludeIds: 10_000,
  searchChars: 255,
  /** Characters that are stored of the error with which an execution failed. */
  executionErrorChars: 2_000,
  /** Executions that the list of workflows counts, for each workflow and state. */
  countedExecutions: 10_000,
  lookupEmails: 500,
  fieldValues: 200,
  fieldValuesDefault: 100,
  /** Number of the newest values from which the type of a contact field is inferred. */
  fieldTypeValues: 100,
  /**
   * Levels of nesting in a body. Writing JSON is recursive in Node.js and in PostgreSQL, and fails
   * after some thousand levels.
   */
  jsonDepth: 1000,
  /**
   * Values in one body. The largest `POST /v1/send`, with 1,000 recipients and 64 KB of data, has a
   * third of this. Parsing 100,000 values blocks the process for about 10 ms.
   */
  jsonItems: 100_000,
  importBytes: 5 * 1024 * 1024,
  /** Bytes of a message that a mail server sends to us. */
  incomingBytes: 10 * 1024 * 1024,
  /**
   * Bytes of the body of a mail service's webhook, events in it, and JSON values in it (see
   * `jsonItems`).
   */
  feedbackBytes: 5 * 1024 * 1024,
  feedbackEvents: 10_000,
  feedbackItems: 500_000,
  imageBytes: 10 * 1024 * 1024,
  /** Errors that a job lists. Its counts include all errors. */
  jobErrors: 1000,
  /** Days for which a finished job can be read. */
  jobDays: 30,
  /** Bytes of the steps and transitions of one workflow, as JSON. */
  graphBytes: 1_000_000,
  templateBytes: 2 * 1024 * 1024,
  /** Tags and placeholders of a template. Parsing 10,000 of them takes 0.1 s. */
  templateTags: 10_000,
  /** Bytes of the rendered body of one mail, as UTF-8. */
  renderedBodyBytes: 2 * 1024 * 1024,
  /**
   * Bytes of the rows that are read at a time while the response of a list is written. At least one
   * row is read.
   */
  partBytes: 2 * 1024 * 1024,
  /** Bytes of all bodies on one page of a list. A page has at least one item. */
  pageBodyBytes: 8 * 1024 * 1024,
  mailboxMessages: 1000,
  /**
   * Milliseconds after the last renewal at which a claimed idempotency key counts as abandoned, for
   * example because its process died.
   */
  idempotencyStaleMs: 5 * 60_000,

  /** Objects that `GET /files` returns at once, and bytes of their files. */
  fileObjects: 500,
  fileBytes: 20_000_000,
  filePatterns: 100,
  fileVariables: 100,
  fileVariableChars: 4096,
  /** Open plans of a project, and their bytes. A new plan drops the oldest. */
  openPlans: 10,
  openPlanBytes: 64_000_000,
  /** Applied plans that a project keeps. */
  appliedPlans: 1000,
  /** Fields that a change of a plan lists, and characters of their values. */
  planFields: 100,
  planValueChars: 200,
} as const;
