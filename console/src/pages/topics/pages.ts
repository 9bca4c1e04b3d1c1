import type { Pages } from '../pages.ts';

export const topicPages: Pages = {
  'settings/topics': () => import('./topics.tsx'),
};
