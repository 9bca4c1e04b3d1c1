import {
  createRootRoute,
  createRoute,
  createRouter,
  lazyRouteComponent,
  Outlet,
} from '@tanstack/react-router';
import { base } from './api/session.ts';
import { accountPages } from './pages/account/pages.ts';
import { activityPages } from './pages/activity/pages.ts';
import { authPages } from './pages/auth/pages.ts';
import { campaignPages } from './pages/campaigns/pages.ts';
import { consentPages } from './pages/consent/pages.ts';
import { contactPage } from './pages/contact/pages.ts';
import { contactPages } from './pages/contacts/pages.ts';
import { domainPages } from './pages/domains/pages.ts';
import { emailPages } from './pages/emails/pages.ts';
import { eventPages } from './pages/events/pages.ts';
import { failurePages } from './pages/failures/pages.ts';
import { overviewPages } from './pages/overview/pages.ts';
import type { Pages } from './pages/pages.ts';
import { segmentPages } from './pages/segments/pages.ts';
import { sendPolicyPages } from './pages/send-policy/pages.ts';
import { settingsPages } from './pages/settings/pages.ts';
import { startPages } from './pages/start/pages.ts';
import { subscriptionPages } from './pages/subscriptions/pages.ts';
import { suppressionPages } from './pages/suppression/pages.ts';
import { templatePages } from './pages/templates/pages.ts';
import { topicPages } from './pages/topics/pages.ts';
import { workflowPages } from './pages/workflows/pages.ts';
import { AccountLayout } from './shell/account-layout.tsx';
import { FailedPage } from './shell/failed-page.tsx';
import { NotFoundPage } from './shell/not-found-page.tsx';
import { PlainLayout } from './shell/plain-layout.tsx';
import { ProjectLayout } from './shell/project-layout.tsx';
import { SessionLayout } from './shell/session-layout.tsx';

/** The pages of the console, by address. Each page is loaded when it is first opened. */

const root = createRootRoute({
  component: Outlet,
  notFoundComponent: NotFoundPage,
  errorComponent: ({ error }) => <FailedPage error={error} />,
});

const open = createRoute({ getParentRoute: () => root, id: 'open', component: PlainLayout });
const session = createRoute({
  getParentRoute: () => root,
  id: 'session',
  component: SessionLayout,
});
const account = createRoute({
  getParentRoute: () => session,
  id: 'account',
  component: AccountLayout,
});
const project = createRoute({
  getParentRoute: () => session,
  path: '$projectId',
  component: ProjectLayout,
});

const settings = createRoute({
  getParentRoute: () => project,
  id: 'settings',
  component: lazyRouteComponent(() => import('./pages/settings/layout.tsx'), 'SettingsLayout'),
});

/** All pages of projects, one list per folder of `pages/`. */
const projectPages: Pages = {
  ...overviewPages,
  ...startPages,
  ...contactPages,
  ...contactPage,
  ...segmentPages,
  ...templatePages,
  ...campaignPages,
  ...workflowPages,
  ...failurePages,
  ...emailPages,
  ...eventPages,
  ...activityPages,
};

/** All pages below the navigation `Settings`; their paths begin with `settings`. */
const settingPages: Pages = {
  ...settingsPages,
  ...domainPages,
  ...topicPages,
  ...consentPages,
  ...sendPolicyPages,
  ...suppressionPages,
  ...subscriptionPages,
};

function routesOf(parent: typeof root, pages: Pages) {
  return Object.entries(pages).map(([path, load]) =>
    createRoute({
      getParentRoute: () => parent,
      path,
      component: lazyRouteComponent(load, 'Page'),
    }),
  );
}

const asParent = (route: unknown) => route as typeof root;

const tree = root.addChildren([
  open.addChildren(routesOf(asParent(open), { ...accountPages.open, ...authPages.open })),
  session.addChildren([
    account.addChildren(
      routesOf(asParent(account), { ...accountPages.session, ...authPages.session }),
    ),
    project.addChildren([
      ...routesOf(asParent(project), projectPages),
      settings.addChildren(routesOf(asParent(settings), settingPages)),
    ]),
  ]),
]);

/** Returns query parameters as plain texts, not as JSON: `?search=ann&page=2`. */
function parseSearch(search: string): Record<string, string> {
  return Object.fromEntries(new URLSearchParams(search));
}

function stringifySearch(search: Record<string, unknown>): string {
  const given = Object.entries(search).filter(([, value]) => value !== undefined && value !== '');
  const text = new URLSearchParams(given.map(([key, value]) => [key, String(value)])).toString();
  return text === '' ? '' : `?${text}`;
}

export const router = createRouter({
  routeTree: tree,
  basepath: base,
  defaultPreload: 'intent',
  // When an id in the path changes, the page is rendered anew, without the state of the previous
  // record.
  defaultRemountDeps: ({ params }) => params,
  parseSearch,
  stringifySearch,
  scrollRestoration: true,
});
