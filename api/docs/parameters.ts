/** Descriptions of parameters by name, for endpoints that do not describe them. */
const meanings: Readonly<Record<string, string>> = {
  archived: 'Only archived ones, or only the others',
  campaignId: 'The id of a campaign',
  code: 'Authorization code of the provider',
  contactId: 'The id of a contact',
  currency: 'The currency to pay in',
  daysAhead: 'Days to look ahead',
  deliveryId: 'The id of a delivery',
  dir: 'Ascending or descending',
  email: 'An address, in any case',
  emailId: 'The id of a mail',
  endedAfter: 'Ended at this moment or later',
  endedBefore: 'Ended before this moment',
  error: 'A part of the error',
  eventId: 'The id of an event',
  eventName: 'The name of an event',
  executionId: 'The id of an execution',
  jobId: 'The `jobId` that was returned when the job began',
  key: 'The key of a file, as in its URL',
  limit: 'Maximum number of items per page',
  metric: 'The number by which the list is sorted',
  minutes: 'Minutes to look back',
  name: 'The name of a secret',
  page: 'Number of the page, from 1',
  pageSize: 'Items per page',
  projectId: 'The id of a project',
  q: 'The words to search for',
  sort: 'Sort field',
  sourceType: 'Source of the mail',
  startedAfter: 'Started at this moment or later',
  startedBefore: 'Started before this moment',
  state: 'The `state` with which the login began',
  stats: 'true: show the statistics of each step',
  status: 'Only those with this status',
  stepId: 'The id of a step',
  subscribed: 'Only subscribed contacts, or only unsubscribed ones',
  token: 'Token at the end of the link in a mail',
  transitionId: 'The id of a transition',
  userId: 'The id of a user',
  version: 'Only executions on this version',
  workflowId: 'The id of a workflow',
};

/**
 * Describes a parameter by its name. An `id` belongs to the collection before it in the path, as in
 * `/campaigns/{id}`. Returns undefined for an unknown name.
 */
export function meaningOf(name: string, path: string): string | undefined {
  if (name !== 'id') return Object.hasOwn(meanings, name) ? meanings[name] : undefined;
  const parent = path.slice(0, path.indexOf('/{id}'));
  const collection = parent.split('/').findLast((segment) => /^[a-z]+s$/.test(segment));
  return collection
    ? `The id of the ${collection.replace(/ies$/, 'ys').slice(0, -1)}`
    : `An id as GET ${parent} lists it`;
}
