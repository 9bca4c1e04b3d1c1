import type { Pages } from '../pages.ts';

/**
 * Sign-in, and the pages to which links in account mail lead. The pages in `open` need no session.
 */
export const authPages = {
  open: {
    'auth/login': () => import('./log-in.tsx'),
    'auth/signup': () => import('./sign-up.tsx'),
    'auth/forgot-password': () => import('./forgot-password.tsx'),
    'auth/reset-password': () => import('./reset-password.tsx'),
    'auth/second-factor': () => import('./second-factor.tsx'),
    'auth/break-glass': () => import('./break-glass.tsx'),
  },
  session: {
    'auth/verify-email': () => import('./verify-email.tsx'),
    'auth/linked': () => import('./linked.tsx'),
  },
} satisfies Record<string, Pages>;
