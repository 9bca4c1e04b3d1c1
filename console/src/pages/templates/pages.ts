import type { Pages } from '../pages.ts';

export const templatePages: Pages = {
  templates: () => import('./templates.tsx'),
};
