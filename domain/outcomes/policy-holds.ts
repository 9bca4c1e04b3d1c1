/** The rules of a project that hold messages back: its send policy and its ramps. */
export const policyHolds = ['quiet_hours', 'frequency_cap', 'warm_up'] as const;
export type PolicyHold = (typeof policyHolds)[number];
