import type { AnyEndpoint } from './endpoint.ts';
import { contactEndpoints } from './contacts.ts';
import { domainEndpoints } from './domains.ts';
import { eventEndpoints } from './events.ts';
import { executionEndpoints } from './workflows/executions.ts';
import { loginEndpoints } from './accounts/login.ts';
import { mailboxEndpoints } from './mailbox.ts';
import { metaEndpoints } from './meta.ts';
import { send } from './public/send.ts';
import { track } from './public/track.ts';
import { projectEndpoints } from './accounts/projects.ts';
import { userEndpoints } from './accounts/users.ts';
import { templateEndpoints } from './templates.ts';
import { workflowEndpoints } from './workflows/workflows.ts';

/** Every endpoint of the API: what is routed, documented and swept by the tests. */
export const endpoints: readonly AnyEndpoint[] = [
  send,
  track,
  ...contactEndpoints,
  ...eventEndpoints,
  ...executionEndpoints,
  ...loginEndpoints,
  ...userEndpoints,
  ...projectEndpoints,
  ...domainEndpoints,
  ...mailboxEndpoints,
  ...templateEndpoints,
  ...workflowEndpoints,
  ...metaEndpoints(() => endpoints),
];
