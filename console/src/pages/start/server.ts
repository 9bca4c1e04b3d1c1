import { accountApi } from '../../api/api.ts';
import { useRead } from '../../api/queries.ts';

/**
 * Returns true in `hasMailbox` if the server keeps all mail in its local mailbox. The result is
 * undefined until the settings of the server are read.
 */
export function useServer(): { hasMailbox: boolean } | undefined {
  const { data } = useRead(['config'], () => accountApi.get('/config'));
  return data && { hasMailbox: data.features.email.transport === 'mailbox' };
}
