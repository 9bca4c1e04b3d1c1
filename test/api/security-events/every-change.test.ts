import { beforeAll, describe, expect, it } from 'vitest';
import { useApi } from '../../support/api.ts';
import { campaignChanges } from '../../support/changes/campaigns.ts';
import {
  act,
  actWrongly,
  endpointNamed,
  entriesOf,
  type Play,
  withoutLog,
  type World,
} from '../../support/changes/play.ts';
import { workflowChanges } from '../../support/changes/workflows.ts';

const api = await useApi({ PLATFORM_FROM_ADDRESS: '' });

const groups: Record<string, Play[]> = {
  campaigns: campaignChanges,
  workflows: workflowChanges,
};

describe.each(Object.entries(groups))('a change of %s', (_, plays) => {
  let world: World;
  beforeAll(async () => {
    const { cookie, userId } = await api.signUp();
    world = { api, cookie, userId, project: await api.createProject(cookie), ids: {} };
  });

  const named = plays.map((play) => {
    const { method, path } = endpointNamed(play.id);
    return [`${method} ${path}`, play.event, play] as const;
  });
  it.each(named)('%s has one entry, %s, if and only if it is made', async (_name, event, play) => {
    await play.prepare?.(world);
    const refused = await entriesOf(api, () => actWrongly(world, play));
    expect(refused.answer.status).toBeOneOf([400, 401, 403, 404, 409, 422]);
    expect(refused.events).toEqual([]);
    // If the entry cannot be written, the change is not made, so that it is possible afterwards.
    const failed = await withoutLog(api, () => entriesOf(api, () => act(world, play)));
    expect(failed.answer.status).toBe(500);
    expect(failed.events).toEqual([]);
    const made = await entriesOf(api, () => act(world, play));
    expect([made.answer.status, made.answer.body]).toEqual([
      expect.toSatisfy((status: number) => status < 300),
      expect.anything(),
    ]);
    expect(made.events).toEqual([event]);
  });
});
