import { accountApi } from '../../api/api.ts';
import { useRead } from '../../api/queries.ts';

/** What the server does with mail; undefined: not read yet. */
export function useServer(): { hasMailbox: boolean } | undefined {
  const { data } = useRead(['config'], () => accountApi.get('/config'));
  return data && { hasMailbox: data.features.email.transport === 'mailbox' };
}
