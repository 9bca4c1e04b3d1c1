import type { Pages } from '../pages.ts';

export const startPages: Pages = {
  start: () => import('./start.tsx'),
};
