import type { Pages } from '../pages.ts';

export const contactPages: Pages = {
  contacts: () => import('./contacts.tsx'),
  'contacts/import': () => import('./import/import.tsx'),
};
