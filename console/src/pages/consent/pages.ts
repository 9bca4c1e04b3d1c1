import type { Pages } from '../pages.ts';

export const consentPages: Pages = {
  'settings/consent': () => import('./consent.tsx'),
};
