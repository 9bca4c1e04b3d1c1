import type { Pages } from '../pages.ts';

export const settingsPages: Pages = {
  settings: () => import('./project/project.tsx'),
  'settings/keys': () => import('./keys/keys.tsx'),
  'settings/keys/$keyId': () => import('./keys/key.tsx'),
};
