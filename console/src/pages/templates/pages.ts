import type { Pages } from '../pages.ts';

export const templatePages: Pages = {
  templates: () => import('./templates.tsx'),
  'templates/new': () => import('./new-template.tsx'),
  'templates/$templateId': () => import('./template.tsx'),
};
