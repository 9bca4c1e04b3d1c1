import type { Pages } from '../pages.ts';

export const emailPages: Pages = {
  emails: () => import('./emails.tsx'),
  'emails/$emailId': () => import('./email.tsx'),
};
