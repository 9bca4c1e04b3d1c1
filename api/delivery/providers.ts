import { z } from 'zod';
import { findOpenCircuits } from '../../db/delivery/provider-circuit.ts';
import {
  countProviderMail,
  noProviderMail,
  type ProviderMail,
  providerMailMax,
} from '../../db/reads/provider-mail.ts';
import { readRouting } from '../../db/routing/routing.ts';
import type { PoolProvider } from '../../providers/mail-pool.ts';
import { named } from '../http/schemas.ts';
import { providerState, stateFields } from '../providers/record.ts';
import type { Services } from '../services/services.ts';

/** The providers of a project's mail, with counts by outcome. */
export const DeliveryProviders = z
  .array(
    named('DeliveryProvider', {
      id: z.string(),
      name: z.string(),
      ...stateFields,
      sending: z.int(),
      unknown: z.int(),
      last24Hours: z.object({
        accepted: z.int(),
        refused: z.int(),
        delivered: z.int(),
        bounced: z.int(),
        complained: z.int(),
      }),
    }),
  )
  .describe(
    'Providers that routes name or that had mail in the last 24 hours; absent without routes. Of ' +
      `each kind, the newest ${providerMailMax} messages of the project are counted`,
  );

type Sources = Pick<Services, 'db' | 'config' | 'mailPool' | 'recent'>;

/**
 * Returns the providers of a project with routes; null: there are no routes, so all mail uses the
 * default provider.
 */
export async function readDeliveryProviders(
  { db, config, mailPool, recent }: Sources,
  projectId: string,
): Promise<z.input<typeof DeliveryProviders> | null> {
  return recent.get(`delivery providers ${projectId}`, async () => {
    const { routes } = await readRouting(db, projectId);
    const all = [...routes, ...config.mail.routes];
    if (all.length === 0) return null;
    const [providers, mail] = await Promise.all([
      mailPool.providersOf(projectId),
      countProviderMail(db, projectId),
    ]);
    const named = new Set(all.flatMap((route) => route.providers.map(({ id }) => id)));
    const shown = providers.filter(({ id }) => named.has(id) || mail.has(id));
    const circuits = await findOpenCircuits(
      db,
      shown.map(({ mailer }) => mailer.provider),
    );
    return shown.map((provider) =>
      presentUse(provider, circuits, mail.get(provider.id) ?? noProviderMail),
    );
  });
}

function presentUse(
  { id, name, enabled, mailer }: PoolProvider,
  circuits: ReadonlyMap<string, Date>,
  { sending, unknown, ...last24Hours }: ProviderMail,
) {
  const state = providerState(enabled, circuits, mailer.provider);
  return { id, name, ...state, sending, unknown, last24Hours };
}
