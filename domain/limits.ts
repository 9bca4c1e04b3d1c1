/** Fixed limits of the API. Sizes are in bytes, lengths of texts in characters. */
export const limits = {
  /** Longest chain of executions that start each other by events of their steps and mails. */
  chainDepth: 10,
  /** Executions that other executions start, per workflow, contact and hour. */
  causedPerHour: 100,
  /** Active executions of one contact in a workflow that runs them in parallel. */
  parallelExecutions: 100,
  /** Active executions with different keys of one contact in one workflow. */
  activeKeys: 1000,
  /** Length of an execution key, and of the path in an event at which the key is found. */
  executionKeyChars: 200,
  reentrySecondsMax: 31_536_000,
  /** A body that anyone may send, without credentials. */
  openBodyBytes: 16 * 1024,
  /** Any other body that contains no mail text. */
  jsonBodyBytes: 1024 * 1024,
  /** The body of a template or a campaign. */
  contentBodyBytes: 5 * 1024 * 1024,
  /** The body of a mail to be sent, with its attachments. */
  sendBodyBytes: 50 * 1024 * 1024,
  nameChars: 100,
  descriptionChars: 500,
  subjectChars: 998,
  /** A header name must leave room in its line. */
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
  /** Columns of one export of contacts, and the length of their names. */
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
  /** The largest `max` of a DIGEST, which is the number of events at which it closes early. */
  digestEventsMax: 1000,
  /** Events in the context after a DIGEST, and their bytes as JSON. */
  digestEvents: 100,
  digestBytes: 32 * 1024,
  /** Characters of a UTM value, and hosts of a link policy. */
  utmChars: 100,
  utmHosts: 50,
  /** Frequency caps of a project, and the messages and days of one cap. */
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
  /** Number of the newest mails of a contact that an event is attributed among. */
  goalMails: 1_000,
  /** Name of the contact field with the time zone. */
  zoneFieldChars: 200,
  zoneChars: 64,
  /** Maximum number of messages per minute that a campaign may set. */
  mailPerMinuteMax: 1_000_000,
  /** The customer's description of how a contact consented. */
  proofTextChars: 2000,
  proofAgentChars: 500,
  /** The longest delay of an opt-in request's reminder and expiry: a year. */
  optInSeconds: 31_536_000,
  /** Topics of a project, and of one request. */
  topics: 100,
  /** Named keys of a project that are not revoked, and items of each list of a key. */
  apiKeys: 50,
  /** Second factors of a user. */
  factors: 10,
  /** Users of identity providers by which a user signs in. */
  identities: 50,
  /** Rules of a project by which users of identity providers become members. */
  signInRules: 50,
  claimChars: 100,
  claimValueChars: 200,
  apiKeyItems: 50,
  /** The longest overlap of a rotation: seven days. */
  keyOverlapSeconds: 604_800,
  keyLifeYears: 10,
  /** Ramps of a project, also finished ones. */
  ramps: 20,
  rampDays: 90,
  rampStartPerDay: 1_000_000,
  /** Lines of a contact's consent log that are listed. */
  consentLines: 1000,
  /** Secrets of a project, the length of a secret, and the hosts that one secret can be bound to. */
  secrets: 50,
  secretChars: 4096,
  secretHosts: 10,
  /** Mail providers of a project, their credentials, and the sender domains of one. */
  providers: 20,
  credentialChars: 500,
  feedbackSecretChars: 1000,
  providerDomains: 100,
  /** Routes of a project, providers of one, items of each part of its match, and the largest weight. */
  routes: 50,
  routeProviders: 10,
  routeItems: 100,
  routeWeight: 1000,
  /** Event subscriptions of a project, and the limits of one. */
  subscriptions: 20,
  subscriptionUrlChars: 2000,
  subscriptionItems: 50,
  subscriptionHeaders: 20,
  /** The total of all header names and values. */
  subscriptionHeaderBytes: 8 * 1024,
  /** Number of days that a replay may go back: as long as deliveries are kept. */
  replayDays: 30,
  /** Deliveries of one request, and bytes of its body. */
  subscriptionBatch: 100,
  subscriptionBatchBytes: 1_048_576,
  /** Attempts that a delivery lists, and bytes of a response that it stores. */
  deliveryAttempts: 20,
  deliveryResponseBytes: 1024,
  conditionBranches: 20,
  /** Conditions of a trigger, or of a wait. */
  whereItems: 10,
  /**
   * The value of one condition of a trigger or wait, as JSON. It is short, because an event may be
   * compared with a thousand waits.
   */
  whereValueChars: 1000,
  /** Filters of one condition, in all its groups, and how deep conditions nest. */
  filters: 100,
  filterDepth: 5,
  /** The name of a field in a filter. It is longer than any real path. */
  filterFieldChars: 1000,
  /** Segments that a condition refers to, directly or indirectly. */
  segmentReach: 50,
  segmentMembersAtOnce: 500,
  /** Links of a campaign, a template or a step whose clicks are counted one by one. */
  linksMax: 500,
  linkIdChars: 100,
  /** How long the database may evaluate a condition over all contacts. */
  conditionTimeMs: 20_000,
  /** How long the database may take for one statistic of a workflow. */
  statsTimeMs: 20_000,
  bulkIds: 1000,
  bulkExcludeIds: 10_000,
  searchChars: 255,
  lookupEmails: 500,
  fieldValues: 200,
  fieldValuesDefault: 100,
  /** Newest values that determine a field's type. */
  fieldTypeValues: 100,
  /**
   * Greatest nesting depth of a body. Writing JSON is recursive, in Node.js and in PostgreSQL; both
   * work up to some thousand levels.
   */
  jsonDepth: 1000,
  /**
   * Values in one body: three times as many as in the largest `POST /v1/send`, with 1,000 recipients
   * and 64 KB of data. Parsing 100,000 values blocks the process for some 10 ms.
   */
  jsonItems: 100_000,
  importBytes: 5 * 1024 * 1024,
  /** A message that arrives from a mail server. */
  incomingBytes: 10 * 1024 * 1024,
  /** A body of a mail service's webhook, its events, and the values in them. */
  feedbackBytes: 5 * 1024 * 1024,
  feedbackEvents: 10_000,
  feedbackItems: 500_000,
  imageBytes: 10 * 1024 * 1024,
  /** Errors that a job lists. Its counts include all errors. */
  jobErrors: 1000,
  /** How long a finished job can be read. */
  jobDays: 30,
  /** Steps and transitions of one workflow, as JSON. */
  graphBytes: 1_000_000,
  templateBytes: 2 * 1024 * 1024,
  /** Tags and placeholders of a template. Parsing 10,000 takes 0.1 s. */
  templateTags: 10_000,
  /** The body of one mail, rendered, as UTF-8. */
  renderedBodyBytes: 2 * 1024 * 1024,
  /**
   * Bytes of the rows that are read together while the response with a list is written. At least one
   * row is read.
   */
  partBytes: 2 * 1024 * 1024,
  /** Total of the bodies on one page of a list. A page has at least one item. */
  pageBodyBytes: 8 * 1024 * 1024,
  mailboxMessages: 1000,
  /**
   * How long an idempotency key stays claimed after the request has last renewed its claim, for
   * example because the process died.
   */
  idempotencyStaleMs: 5 * 60_000,
} as const;
