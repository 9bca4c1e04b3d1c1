import type { Pages } from '../pages.ts';

export const domainPages: Pages = {
  'settings/domains': () => import('./domains.tsx'),
};
