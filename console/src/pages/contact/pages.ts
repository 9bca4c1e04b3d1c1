import type { Pages } from '../pages.ts';

export const contactPage: Pages = {
  'contacts/$contactId': () => import('./contact.tsx'),
};
