import type { Pages } from '../pages.ts';

export const suppressionPages: Pages = {
  'settings/suppression': () => import('./suppression.tsx'),
};
