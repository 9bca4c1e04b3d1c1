/** Every fixed limit of the API in one place. Sizes in bytes, texts in characters. */
export const limits = {
  jsonBodyBytes: 50 * 1024 * 1024,
  nameChars: 100,
  descriptionChars: 500,
  subjectChars: 998,
  headerValueChars: 998,
  recipients: 1000,
  contactDataBytes: 64 * 1024,
  contactDataKeys: 500,
  contactDataKeyChars: 100,
  eventDataBytes: 64 * 1024,
  eventNameChars: 100,
  pageSize: 100,
  pageSizeDefault: 20,
  eventListMax: 1000,
  eventListDefault: 100,
  delayDaysMax: 365,
  waitSecondsMax: 31_536_000,
  exitReasonChars: 200,
  conditionBranches: 20,
  /** Filters of one condition, in all its groups, and how deep conditions nest. */
  filters: 100,
  filterDepth: 5,
  /** A field of a filter: longer than any path somebody means. */
  filterFieldChars: 1000,
  bulkIds: 1000,
  /** Steps and transitions of one workflow as JSON. A run is started with all of it, and Temporal
   * takes at most 2 MB in one payload. */
  graphBytes: 1_000_000,
  templateBytes: 2 * 1024 * 1024,
  mailboxMessages: 1000,
  /** A request that never finished blocks its idempotency key this long. */
  idempotencyStaleMs: 5 * 60_000,
} as const;
