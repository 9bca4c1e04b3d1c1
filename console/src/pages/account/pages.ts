import type { Pages } from '../pages.ts';

/** Pages without a project. Those in `open` need no session. */
export const accountPages = {
  open: {
    'auth/login': () => import('./log-in.tsx'),
    'auth/signup': () => import('./sign-up.tsx'),
    design: () => import('./design.tsx'),
  },
  session: {
    '/': () => import('./first-page.tsx'),
    'projects/new': () => import('./new-project.tsx'),
  },
} satisfies Record<string, Pages>;
