/** Limits that hold back mail that could be sent now, for operators. */
export const deliveryLimits = [
  'project_rate',
  'server_rate',
  'campaign_rate',
  'provider',
  'no_worker',
] as const;

export type DeliveryLimit = (typeof deliveryLimits)[number];

/**
 * If at least this part of a rate is used, mail counts as limited by the rate, although a token may
 * be free at this moment.
 */
const nearly = 0.8;

/**
 * Returns the limit that mail waits for; null when no mail is due, or it is sent at full speed.
 * Without workers it is `no_worker`, even if no mail is due.
 * @param state.perSecond messages of the project sent per second
 * @param state.rates in messages per second; 0: no limit
 * @param state.projectTokens tokens that are left, null if none were ever taken
 * @param state.isCampaignSlow a campaign with due mail has a limit of its own
 */
export function limitOf(state: {
  workers: number;
  due: number;
  perSecond: number;
  isProviderOut: boolean;
  projectTokens: number | null;
  serverTokens: number | null;
  isCampaignSlow: boolean;
  rates: { perSecond: number; perProjectPerSecond: number };
}): DeliveryLimit | null {
  if (state.workers === 0) return 'no_worker';
  if (state.due === 0) return null;
  if (state.isProviderOut) return 'provider';
  const isReached = (rate: number, tokens: number | null) =>
    rate > 0 && ((tokens !== null && tokens < 1) || state.perSecond >= nearly * rate);
  const { perSecond: server, perProjectPerSecond: project } = state.rates;
  const isProject = isReached(project, state.projectTokens);
  const isServer = isReached(server, state.serverTokens);
  // If both rates are reached, the lower one is the limit. If they are equal, it is the project's.
  if (isServer && (!isProject || server < project)) return 'server_rate';
  if (isProject) return 'project_rate';
  return state.isCampaignSlow ? 'campaign_rate' : null;
}
