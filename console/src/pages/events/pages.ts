import type { Pages } from '../pages.ts';

export const eventPages: Pages = {
  events: () => import('./events.tsx'),
};
