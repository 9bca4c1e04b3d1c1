import type { Pages } from '../pages.ts';

/** Pages about the user: some are open to everybody, the others need a session. */
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
