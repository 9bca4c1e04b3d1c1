import { z } from 'zod';
import { readCircuits } from '../../db/delivery/provider-circuit.ts';
import { readRouting } from '../../db/routing/routing.ts';
import { chooseProviders, skipReasons } from '../../domain/routing/routing.ts';
import { endpoint } from '../http/endpoint.ts';
import { Email, Uuid } from '../http/schemas.ts';

export const previewRouting = endpoint({
  id: 'previewRouting',
  method: 'POST',
  path: '/routing/preview',
  summary: 'Show by which mail providers a message would leave now',
  description:
    'Sends nothing. `candidates` are in the order in which they are tried. A route with weights ' +
    'is shown in the order that most mail gets. `route` is the index of the route of the project; ' +
    'null: none of them decides.',
  access: 'secret',
  body: z.object({
    from: Email,
    to: Email,
    messageClass: z.enum(['TRANSACTIONAL', 'MARKETING', 'HEADLESS']),
    topicId: Uuid.nullable().optional(),
  }),
  response: z.object({
    route: z.int().nullable(),
    candidates: z.array(
      z.object({
        providerId: z.string(),
        weight: z.int(),
        usable: z.boolean(),
        reason: z.enum(skipReasons).nullable().describe('null: it is usable'),
      }),
    ),
  }),
  example: {
    body: { from: 'news@shop.example', to: 'ada@gmail.com', messageClass: 'MARKETING' },
    response: {
      route: 0,
      candidates: [
        { providerId: 'default', weight: 1, usable: false, reason: 'down' },
        {
          providerId: '90000000-0000-4000-8000-000000000001',
          weight: 0,
          usable: true,
          reason: null,
        },
      ],
    },
  },
  async handle({ db, mailPool, config, caller: { projectId }, body }) {
    const { routes: own } = await readRouting(db, projectId);
    const providers = new Map(
      (await mailPool.providersOf(projectId)).map((provider) => [provider.id, provider]),
    );
    const mail = {
      id: null,
      message_class: body.messageClass,
      from_email: body.from,
      to_email: body.to,
      topic_id: body.topicId ?? null,
    };
    const choice = chooseProviders(mail, { own, installation: config.mail.routes }, providers);
    const nameOf = (id: string) => providers.get(id)?.mailer.provider ?? '';
    const circuits = await readCircuits(
      db,
      choice.candidates.map(({ providerId }) => nameOf(providerId)),
    );
    const candidates = choice.candidates.map(({ providerId, weight, reason: against }) => {
      const isDown = (circuits.get(nameOf(providerId))?.waitMs ?? null) !== null;
      const reason = against ?? (isDown ? ('down' as const) : null);
      return { providerId, weight, usable: reason === null, reason };
    });
    return { route: choice.route, candidates };
  },
});
