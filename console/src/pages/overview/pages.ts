import type { Pages } from '../pages.ts';

export const overviewPages: Pages = {
  '/': () => import('./overview.tsx'),
};
