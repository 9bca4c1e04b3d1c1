import type { Everpost, SimulateExecutionRequest } from '../../../../../client/everpost.ts';
import type { Journey } from '../../../journey/graph.ts';

type Events = NonNullable<SimulateExecutionRequest['events']>;

const ask = (api: Everpost, id: string, body: SimulateExecutionRequest) =>
  api.post('/workflows/{id}/simulate', { path: { id }, body });

export type Played = Awaited<ReturnType<typeof ask>>['data'];

/**
 * Simulates the edited graph. If no contact has the address, the simulation uses an invented
 * contact.
 */
export async function play(
  api: Everpost,
  id: string,
  { steps, transitions, exitRules }: Journey,
  address: string,
  events: Events,
): Promise<Played> {
  const email = address.trim() || 'someone@example.com';
  const found = await api.get('/contacts', { query: { email, limit: 1 } });
  const [contact] = found.data;
  const graph = { steps, transitions, exitRules } as unknown as SimulateExecutionRequest['graph'];
  const who = contact ? { contactId: contact.id } : { contact: { email } };
  const { data } = await ask(api, id, { ...who, events, graph });
  return data;
}
