import type { Pages } from '../pages.ts';

export const subscriptionPages: Pages = {
  'settings/subscriptions': () => import('./subscriptions.tsx'),
  'settings/subscriptions/$subscriptionId': () => import('./subscription.tsx'),
};
