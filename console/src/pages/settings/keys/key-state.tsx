import type { ApiKey } from '../../../api/api.ts';
import { State } from '../../../design/parts.tsx';

export const kindNames: Record<ApiKey['kind'], string> = { secret: 'Secret', public: 'Public' };

export const isExpired = ({ expiresAt }: Pick<ApiKey, 'expiresAt'>): boolean =>
  expiresAt !== null && Date.parse(expiresAt) <= Date.now();

export function KeyState({ apiKey }: { apiKey: ApiKey }) {
  if (apiKey.revokedAt !== null) return <State tone="neutral">Revoked</State>;
  if (isExpired(apiKey)) return <State tone="bad">Expired</State>;
  if (apiKey.rotatesUntil !== null) return <State tone="warning">Being replaced</State>;
  return <State tone="good">Valid</State>;
}
