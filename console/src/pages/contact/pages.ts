import type { Pages } from '../pages.ts';

export const contactPage: Pages = {
  'contacts/$contactId': () => import('./contact.tsx'),
  'contacts/erasures/$erasureId': () => import('./erasure.tsx'),
};
