/** The steps at which a trial of a mail provider can fail. */
export const trialFailures = ['connect', 'tls', 'auth', 'sender', 'recipient', 'data'] as const;
export type TrialFailure = (typeof trialFailures)[number];

/** The result of a trial of a mail provider. */
export interface Trial {
  /** The step that failed; null: the provider works. */
  stage: TrialFailure | null;
  /** The version of TLS; null: the connection was not encrypted, or the trial failed before. */
  tls: string | null;
  /**
   * Code of the server's last reply; null: there was no reply with a code. `message` is the text of
   * this reply, or of an error.
   */
  code: number | null;
  message: string | null;
}
