import type { Pages } from '../pages.ts';

export const activityPages: Pages = {
  activity: () => import('./activity.tsx'),
};
