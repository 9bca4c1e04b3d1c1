import { accountApi } from '../../api/api.ts';
import { useRead } from '../../api/queries.ts';

/** Returns if the server has the local mailbox, which catches all mail; undefined: not read yet. */
export function useServer(): { hasMailbox: boolean } | undefined {
  const { data } = useRead(['config'], () => accountApi.get('/config'));
  return data && { hasMailbox: data.features.email.transport === 'mailbox' };
}
