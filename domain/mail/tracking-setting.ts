import type { MessageClass } from './headers.ts';

export type TrackingSetting = 'ENABLED' | 'MARKETING_ONLY' | 'DISABLED';

export function isTracked(setting: TrackingSetting, messageClass: MessageClass): boolean {
  if (setting === 'MARKETING_ONLY') return messageClass !== 'TRANSACTIONAL';
  return setting === 'ENABLED';
}
