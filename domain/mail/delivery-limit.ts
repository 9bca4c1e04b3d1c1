/** The limits that can hold back mail which is due, for operators. */
export const deliveryLimits = [
  'project_rate',
  'server_rate',
  'campaign_rate',
  'provider',
  'no_worker',
  'operator',
] as const;

export type DeliveryLimit = (typeof deliveryLimits)[number];

/** Fraction of a rate from which the rate counts as reached, although a token may still be free. */
const nearly = 0.8;

/**
 * Returns the limit that due mail waits for; null when no mail is due or no limit applies. Without
 * workers, the limit is `no_worker`, also when no mail is due.
 * @param state.perSecond messages of the project sent per second
 * @param state.rates in messages per second; 0: no limit
 * @param state.projectTokens tokens that are left; null if no token was ever taken
 * @param state.isCampaignSlow true if a campaign with due mail has a limit of its own
 */
export function limitOf(state: {
  workers: number;
  due: number;
  /** Number of messages that wait for the operator after a restore. */
  operator: number;
  perSecond: number;
  isProviderOut: boolean;
  projectTokens: number | null;
  serverTokens: number | null;
  isCampaignSlow: boolean;
  rates: { perSecond: number; perProjectPerSecond: number };
}): DeliveryLimit | null {
  if (state.workers === 0) return 'no_worker';
  if (state.operator > 0) return 'operator';
  if (state.due === 0) return null;
  if (state.isProviderOut) return 'provider';
  const isReached = (rate: number, tokens: number | null) =>
    rate > 0 && ((tokens !== null && tokens < 1) || state.perSecond >= nearly * rate);
  const { perSecond: server, perProjectPerSecond: project } = state.rates;
  const isProject = isReached(project, state.projectTokens);
  const isServer = isReached(server, state.serverTokens);
  // If both rates are reached, the lower one is the limit, or the project's if both are equal.
  if (isServer && (!isProject || server < project)) return 'server_rate';
  if (isProject) return 'project_rate';
  return state.isCampaignSlow ? 'campaign_rate' : null;
}
