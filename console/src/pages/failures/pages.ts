import type { Pages } from '../pages.ts';

export const failurePages: Pages = {
  failures: () => import('./failures.tsx'),
};
