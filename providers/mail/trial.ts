/** The step at which a trial of a mail provider failed. */
export const trialFailures = ['connect', 'tls', 'auth', 'sender', 'recipient', 'data'] as const;
export type TrialFailure = (typeof trialFailures)[number];

/** The result of a trial of a mail provider. */
export interface Trial {
  /** null: it works. */
  stage: TrialFailure | null;
  /** The version of TLS; null: the connection was not encrypted, or did not come so far. */
  tls: string | null;
  /** Code and text of its last reply, or of the error; null: there is none. */
  code: number | null;
  message: string | null;
}
