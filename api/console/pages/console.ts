import { z } from 'zod';
import { Problem } from '../../../domain/errors.ts';
import { endpoint } from '../../http/endpoint.ts';
import { listMyProjects } from '../../projects/projects.ts';
import { askAs, type MemberCall } from '../ask.ts';
import { html } from '../../html/html.ts';
import { accountLayout } from '../layout.ts';
import { signInPages } from './sign-in/addresses.ts';
import { logInEndpoints } from './sign-in/log-in.ts';
import { signUpPages } from './sign-in/sign-up.ts';
import { problemPage, projectPage, seeOther, showProjectPage } from '../page.ts';
import { forgetNext, readNext } from '../next-page.ts';
import { visitorOf } from '../open-page.ts';
import { heading } from '../parts.ts';
import { plainPage } from '../plain-page.ts';
import { accountPages } from './account/account.ts';
import { newProjectForm } from './account/projects.ts';
import { campaignPages } from './campaigns.ts';
import { contactPages } from './contacts.ts';
import { domainPages } from './domains.ts';
import { emailPages } from './mail/emails.ts';
import { erasurePages } from './erasures.ts';
import { executionPages } from './executions.ts';
import { failurePages } from './failures.ts';
import { filePages } from './mail/files.ts';
import { jobPages } from './jobs.ts';
import { keyPages } from './keys/keys.ts';
import { providerPages } from './mail/providers.ts';
import { showOverview } from './overview.ts';
import { rampPages } from './mail/ramps.ts';
import { requestPages } from './requests.ts';
import { routingPages } from './routing.ts';
import { securityEventPages } from './security-events.ts';
import { mailSettingsPages } from './settings/mail.ts';
import { overTimePages } from './numbers/over-time.ts';
import { settingsPages } from './settings/sign-in-policy.ts';
import { subscriptionPages } from './subscriptions.ts';
import { templatePages } from './templates.ts';
import { workflowPages } from './workflows.ts';

/** The first page: the overview of the user's first project. */
export const showConsole = endpoint({
  id: 'showConsole',
  method: 'GET',
  path: '/console',
  summary: 'Show the console',
  description:
    'Pages for people: failures, contacts, workflows, campaigns and templates of a project, ' +
    'with actions on them. They work without JavaScript, except passkeys, with the rights of the logged-in ' +
    'member. Without a session they show the login page. `CONSOLE=false` switches them off.',
  access: 'session',
  asSent: true,
  contentType: 'text/html',
  response: z.string(),
  otherAnswers: [
    { status: 303, description: 'Back to the page from which the log-in began' },
    { status: 401, description: 'The log-in page', contentTypes: ['text/html'] },
    { status: 400, description: 'A parameter that occurs twice', contentTypes: ['text/html'] },
  ],
  problemPage,
  async handle(call) {
    const next = readNext(visitorOf(call));
    if (next !== '/console') return seeOther(next, forgetNext(call.config));
    const { data: projects } = await askAs(call, call.caller, listMyProjects, {});
    const [first] = projects;
    if (!first) {
      return plainPage(visitorOf(call), {
        title: 'No project yet',
        layout: accountLayout,
        content: (token) => html`${heading('No project yet')} ${newProjectForm(token)}`,
      });
    }
    const member = await call.authorize(first.id);
    return showProjectPage(
      Object.assign(Object.create(call) as MemberCall, { member }),
      '',
      showOverview,
    );
  },
});

/** The page for all other paths of a project. */
const showUnknownPage = projectPage({
  id: 'showUnknownPage',
  path: '/{key}',
  at: '',
  summary: 'A path without a page',
  async show() {
    throw new Problem('ROUTE_NOT_FOUND', { message: 'There is no such page.' });
  },
});

/** All pages except the first one. */
export const consolePages = [
  ...logInEndpoints,
  ...signInPages,
  ...signUpPages,
  ...accountPages,
  projectPage({
    id: 'showOverview',
    path: '',
    at: '',
    summary: 'Overview of a project: failures, delivery, workflows, campaigns and templates',
    show: showOverview,
  }),
  ...failurePages,
  ...executionPages,
  ...jobPages,
  ...contactPages,
  ...erasurePages,
  ...emailPages,
  ...workflowPages,
  ...campaignPages,
  ...templatePages,
  ...filePages,
  ...domainPages,
  ...providerPages,
  ...routingPages,
  ...rampPages,
  ...subscriptionPages,
  ...keyPages,
  ...requestPages,
  ...securityEventPages,
  ...settingsPages,
  ...mailSettingsPages,
  ...overTimePages,
  showUnknownPage,
];
