/** The steps at which a trial of a mail provider can fail. */
export const trialFailures = ['connect', 'tls', 'auth', 'sender', 'recipient', 'data'] as const;
export type TrialFailure = (typeof trialFailures)[number];

/** The result of a trial of a mail provider. */
export interface Trial {
  /** The step that failed; null: the provider works. */
  stage: TrialFailure | null;
  /** The version of TLS; null: not encrypted, or the trial failed before. */
  tls: string | null;
  /** Code and text of the server's last reply, or of the error; null: none. */
  code: number | null;
  message: string | null;
}
