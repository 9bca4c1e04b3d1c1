import type { Pages } from '../pages.ts';

/** Pages without a project. The pages in `open` need no session. */
export const accountPages = {
  open: {
    design: () => import('./design.tsx'),
  },
  session: {
    '/': () => import('./first-page.tsx'),
    account: () => import('./account.tsx'),
    'projects/new': () => import('./new-project.tsx'),
  },
} satisfies Record<string, Pages>;
