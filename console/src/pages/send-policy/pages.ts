import type { Pages } from '../pages.ts';

export const sendPolicyPages: Pages = {
  'settings/send-policy': () => import('./send-policy.tsx'),
};
