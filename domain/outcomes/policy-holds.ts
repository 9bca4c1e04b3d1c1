/**
 * The rules that hold messages back: the send policy of a project, its ramps, and the operator after
 * a restore of the database.
 */
export const policyHolds = ['quiet_hours', 'frequency_cap', 'warm_up', 'operator'] as const;
export type PolicyHold = (typeof policyHolds)[number];
