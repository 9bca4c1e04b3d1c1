/**
 * Runs that are a function of rows: each is started with ids, looks at its rows, and is told to
 * look again by the signal `changed`. Starting or telling one twice is harmless.
 */
export interface RunInputs {
  campaignSend: { projectId: string; campaignId: string };
  contactImport: { projectId: string; jobId: string };
  bulkContacts: { projectId: string; jobId: string };
  domainPoller: { projectId: string; domainId: string };
}

export type RunKind = keyof RunInputs;

/** The address of a run in Temporal, made from the row that it serves. */
export const runIds = {
  campaignSend: ({ campaignId }) => `campaign-${campaignId}`,
  contactImport: ({ jobId }) => jobId,
  bulkContacts: ({ jobId }) => jobId,
  domainPoller: ({ domainId }) => `domain-${domainId}`,
} satisfies { [K in RunKind]: (input: RunInputs[K]) => string };

/** A run that Temporal has to hear of. */
export interface RunWake {
  runId: string;
  projectId: string | null;
  kind: RunKind;
  input: RunInputs[RunKind];
  /** For operators, in product words; no personal data. */
  summary: string;
  /** How often it was asked for since Temporal was told last. */
  requests: number;
}
