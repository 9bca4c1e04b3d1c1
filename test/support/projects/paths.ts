import { randomUUID } from 'node:crypto';
import type { AnyEndpoint } from '../../../api/http/endpoint.ts';
import type { Seed } from './seed.ts';

/** Name of the seeded id that `{id}` stands for, by the collection in the path. */
const idOf: Record<string, keyof Seed> = {
  contacts: 'contactId',
  segments: 'segmentId',
  templates: 'templateId',
  workflows: 'workflowId',
  emails: 'emailId',
  events: 'eventId',
  domains: 'domainId',
  users: 'projectId',
  projects: 'projectId',
};

/** Returns the path of an endpoint with the given ids. Missing ids are replaced by random ones. */
export function pathWith(
  endpoint: AnyEndpoint,
  valueOf: (parameter: keyof Seed) => string | undefined,
) {
  const [, collection = ''] = endpoint.path.split('/');
  return endpoint.path.replaceAll(/\{(\w+)\}/g, (_, name: string) => {
    // Every workflow has its version 1.
    if (name === 'version') return '1';
    const parameter = (name === 'id' ? idOf[collection] : name) as keyof Seed;
    return encodeURIComponent(valueOf(parameter) ?? randomUUID());
  });
}
