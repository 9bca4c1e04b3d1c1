import type { Pages } from '../pages.ts';

export const workflowPages: Pages = {
  workflows: () => import('./list/list.tsx'),
  'workflows/new': () => import('./create/new-workflow.tsx'),
  'workflows/$workflowId': () => import('./one/workflow.tsx'),
  'workflows/$workflowId/executions/$executionId': () => import('./execution/execution-page.tsx'),
  'workflows/$workflowId/edit': () => import('./editor/edit.tsx'),
};
