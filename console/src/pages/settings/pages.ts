import type { Pages } from '../pages.ts';

export const settingsPages: Pages = {
  settings: () => import('./project/project.tsx'),
  'settings/keys': () => import('./keys/keys.tsx'),
  'settings/keys/$keyId': () => import('./keys/key.tsx'),
  'settings/members': () => import('./members/members.tsx'),
  'settings/secrets': () => import('./secrets/secrets.tsx'),
  'settings/marketing': () => import('./marketing/marketing.tsx'),
  'settings/files': () => import('./files/files.tsx'),
  'settings/billing': () => import('./billing/billing.tsx'),
};
