import type { Actor } from '../api/api.ts';

const systems: Record<string, string> = {
  schedule: 'A schedule',
  segment: 'A segment',
  inbound: 'A received mail',
  feedback: 'A report of the mail provider',
  server: 'The server',
};

/** Returns an actor in words. */
export function textOfActor(actor: Actor | null): string {
  if (actor === null) return '–';
  const { type, name } = actor;
  if (type === 'system') return systems[name ?? ''] ?? 'The server';
  if (type === 'contact') return 'A contact';
  return name ?? (type === 'user' ? 'A former user' : 'A former key');
}
