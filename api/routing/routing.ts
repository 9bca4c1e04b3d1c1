import { z } from 'zod';
import { type Database, transact } from '../../db/database.ts';
import { releaseChangedWaits } from '../../db/delivery/provider-waits.ts';
import { holdProject } from '../../db/projects/projects.ts';
import { lockProviders, listProviders } from '../../db/providers/providers.ts';
import { readRouting, replaceRouting, type StoredRouting } from '../../db/routing/routing.ts';
import { invalidField, Refusals } from '../../domain/errors.ts';
import { RouteList } from '../../providers/mail/route-fields.ts';
import { onDownChoices, type Route } from '../../domain/routing/routing.ts';
import { changesBetween } from '../access/changes.ts';
import { endpoint } from '../http/endpoint.ts';
import { named, Time, time } from '../http/schemas.ts';
import type { Services } from '../services/services.ts';
import { requireTopics } from '../topics/references.ts';
import { previewRouting } from './preview.ts';

/** The routes of a project: they decide which mail is sent through which mail provider. */

const Routing = named('Routing', {
  routes: z.array(
    named('Route', {
      match: named('RouteMatch', {
        messageClass: z.array(z.enum(['TRANSACTIONAL', 'MARKETING', 'HEADLESS'])).optional(),
        domains: z.array(z.string()).optional(),
        topicIds: z.array(z.string()).optional(),
        receivers: z.array(z.string()).optional(),
      }),
      providers: z.array(named('RouteProvider', { id: z.string(), weight: z.int() })),
      onDown: z.enum(onDownChoices),
    }),
  ),
  updatedAt: Time.nullable().describe('null: it was never set'),
});

const exampleRoutes = [
  {
    match: { messageClass: ['MARKETING' as const], receivers: ['gmail.com', '*.edu'] },
    providers: [
      { id: '90000000-0000-4000-8000-000000000001', weight: 9 },
      { id: 'default', weight: 1 },
    ],
    onDown: 'next' as const,
  },
];
const example: z.input<typeof Routing> = {
  routes: exampleRoutes,
  updatedAt: '2026-11-20T10:00:00.000Z',
};

function present({ routes, updatedAt }: StoredRouting): z.input<typeof Routing> {
  const shown = routes.map(({ match, providers, onDown }) => ({
    match: copyOf(match),
    providers: providers.map(({ id, weight }) => ({ id, weight })),
    onDown,
  }));
  return { routes: shown, updatedAt: time(updatedAt) };
}

function copyOf({ messageClass, domains, topicIds, receivers }: Route['match']) {
  return {
    ...(messageClass && { messageClass: [...messageClass] }),
    ...(domains && { domains: [...domains] }),
    ...(topicIds && { topicIds: [...topicIds] }),
    ...(receivers && { receivers: [...receivers] }),
  };
}

const getRouting = endpoint({
  id: 'getRouting',
  method: 'GET',
  path: '/routing',
  summary: 'Get the routes: which mail leaves by which mail provider',
  description:
    'The first route whose `match` holds decides. Mail without a route leaves by the routes of ' +
    'the installation, if it has any, then by `default`.',
  access: 'secret',
  response: Routing,
  example: { response: example },
  async handle({ db, caller }) {
    return present(await readRouting(db, caller.projectId));
  },
});

const putRouting = endpoint({
  id: 'setRouting',
  method: 'PUT',
  path: '/routing',
  summary: 'Replace the routes: which mail leaves by which mail provider',
  description:
    'They apply to mail that is claimed for sending after the response, at most 5 seconds later. ' +
    'A provider is chosen by weight, from the id of the message. Mail whose outcome at one ' +
    'provider is unknown never leaves by another.',
  access: 'secret',
  role: 'ADMIN',
  body: z.object({ routes: RouteList }),
  response: Routing,
  problems: ['TOPIC_NOT_FOUND'],
  example: { body: { routes: exampleRoutes }, response: example },
  async handle({ db, mailPool, caller: { projectId }, body, note }) {
    return transact(db, async (tx) => {
      await holdProject(tx, projectId);
      // The lock prevents the deletion of the providers to which the routes refer.
      await lockProviders(tx, projectId);
      await checkRoutes(tx, { mailPool, projectId }, body.routes);
      const before = present(await readRouting(tx, projectId));
      const named = before.routes.flatMap(({ providers }) => providers.map(({ id }) => id));
      await releaseChangedWaits(tx, projectId, new Set(named));
      const after = present(await replaceRouting(tx, projectId, body.routes));
      const changes = changesBetween(before, after, { fields: ['routes'] });
      const details = { routes: String(body.routes.length) };
      await note({ event: 'routing.changed', projectId, changes, details }, tx);
      return after;
    });
  },
});

/**
 * Refuses routes with a provider or topic that the project does not have.
 * @throws Problem VALIDATION_ERROR with all unknown providers, TOPIC_NOT_FOUND
 */
async function checkRoutes(
  tx: Database,
  { mailPool, projectId }: Pick<Services, 'mailPool'> & { projectId: string },
  routes: readonly Route[],
): Promise<void> {
  const own = await listProviders(tx, projectId);
  const providerIds = new Set([...mailPool.installation, ...own].map(({ id }) => id));
  const refusals = new Refusals();
  for (const [index, { providers }] of routes.entries()) {
    for (const [place, { id }] of providers.entries()) {
      if (providerIds.has(id)) continue;
      const field = `routes.${index}.providers.${place}.id`;
      refusals.add(
        invalidField(
          field,
          'not_found',
          `There is no mail provider ${id}. GET /providers lists them.`,
          id,
        ),
      );
    }
  }
  refusals.throw();
  const topicIds = routes.flatMap(({ match }) => match.topicIds ?? []);
  await requireTopics(tx, projectId, topicIds);
}

export const routingEndpoints = [getRouting, putRouting, previewRouting];
