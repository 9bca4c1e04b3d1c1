import type { Everpost, WorkflowGraphInput } from '../../../../../client/everpost.ts';
import { bodyOf, journeyOf, type Ready } from '../../../journey/ready/ready.ts';

/**
 * Creates a ready-made workflow, disabled, with its templates. If one creation fails, the templates
 * are deleted again.
 */
export async function createReady(
  api: Everpost,
  ready: Ready,
  { name, eventName, from }: { name: string; eventName: string; from: string },
): Promise<{ id: string }> {
  const templates = new Map<string, { id: string; name: string }>();
  try {
    for (const { key, mail } of ready.steps) {
      if (!mail) continue;
      const { type, subject } = mail;
      const sender = from.trim() === '' ? {} : { from: from.trim() };
      const body = { name: mail.name, subject, type, body: bodyOf(mail), ...sender };
      templates.set(key, await api.post('/templates', { body }));
    }
    const chosen = new Map(
      [...templates].map(([key, { id, name: of }]) => [key, { id, name: of }]),
    );
    const graph = journeyOf(ready, { name, eventName }, chosen) as unknown as WorkflowGraphInput;
    return await api.post('/workflows', { body: { name, graph } });
  } catch (error) {
    const ids = [...templates.values()].map(({ id }) => id);
    // If the deletion fails as well, the templates stay, and the user can delete them.
    if (ids.length > 0) {
      await api.post('/templates/bulk-update', { body: { ids, delete: true } }).catch(() => {});
    }
    throw error;
  }
}
