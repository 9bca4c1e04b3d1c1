import { describe, expect, it } from 'vitest';
import { useWorkflowApi } from '../../support/projects/workflow-api.ts';

const { call, make, createWorkflow, addDelay } = await useWorkflowApi();

async function entriesAbout(id: string) {
  const { body } = await call('GET', `/security-events?targetId=${id}&limit=100`);
  return body.data as {
    event: string;
    changes: { field: string; before: unknown; after: unknown }[] | null;
    details: Record<string, unknown>;
  }[];
}

describe('the security events of a workflow', () => {
  it('name each new version, and its changed step', async () => {
    const { id } = await createWorkflow();
    const step = await addDelay(id);
    const path = `/workflows/${id}/steps/${step.id}`;
    await call('PATCH', path, { name: 'Wait a day', config: { amount: 2, unit: 'days' } });
    await call('DELETE', path);
    expect(await entriesAbout(id)).toMatchObject([
      { details: { version: 4, stepId: step.id }, changes: null },
      {
        details: { version: 3, stepId: step.id },
        changes: [
          { field: 'name', before: 'Wait', after: 'Wait a day' },
          { field: 'config', before: '•••', after: '•••' },
        ],
      },
      { event: 'workflow.changed', details: { version: 2, stepId: step.id }, changes: null },
      { event: 'workflow.created', changes: null },
    ]);
  });

  it('show changed settings, but not the conditions of the trigger', async () => {
    const { id, version } = await createWorkflow();
    const where = [{ field: 'event.email', operator: 'equals', value: 'ada@people.test' }];
    const triggerConfig = { eventName: 'signed_up', where };
    await call('PATCH', `/workflows/${id}`, { name: 'New', paused: true, triggerConfig });
    const [entry] = await entriesAbout(id);
    expect(entry).toMatchObject({
      event: 'workflow.changed',
      details: { version: version + 1 },
      changes: [
        { field: 'name', before: 'Onboarding', after: 'New' },
        { field: 'paused', before: false, after: true },
        { field: 'triggerConfig', before: '•••', after: '•••' },
      ],
    });
  });

  it('have none for a request that changes nothing', async () => {
    const { id, name } = await createWorkflow();
    const graph = (await call('GET', `/workflows/${id}/graph`)).body;
    expect((await call('PATCH', `/workflows/${id}`, { name, enabled: false })).status).toBe(200);
    expect((await call('PUT', `/workflows/${id}/graph`, graph)).status).toBe(200);
    expect((await call('POST', `/workflows/${id}/versions/1/restore`, {})).status).toBe(200);
    expect(await entriesAbout(id)).toMatchObject([{ event: 'workflow.created' }]);
  });
});

describe('the security events of a campaign', () => {
  const draft = {
    name: 'Spring',
    subject: 'Hello',
    body: '<p>Hello</p>',
    from: 'team@content.test',
    audienceType: 'ALL',
  };

  it('show what changed, without long texts and without the addresses of a condition', async () => {
    await make('/domains', { domain: 'content.test' });
    const { id } = (await make('/campaigns', draft)).data;
    const long = `<p>${'Hello. '.repeat(40)}</p>`;
    const { body } = await call('PUT', `/campaigns/${id}`, {
      subject: 'Hi',
      body: long,
      audienceType: 'FILTERED',
      audienceFilter: {
        operator: 'AND',
        conditions: [{ field: 'email', operator: 'equals', value: 'ada@people.test' }],
      },
    });
    expect(body.error).toBeUndefined();
    const [entry] = await entriesAbout(id);
    expect(entry).toMatchObject({
      event: 'campaign.changed',
      changes: [
        { field: 'subject', before: 'Hello', after: 'Hi' },
        { field: 'body', before: draft.body, after: { length: long.length } },
        { field: 'audienceType', before: 'ALL', after: 'FILTERED' },
        { field: 'audienceCondition', before: null, after: '•••' },
      ],
    });
  });

  it('have none for a request that changes nothing', async () => {
    const { id } = (await make('/campaigns', draft)).data;
    await call('PUT', `/campaigns/${id}`, draft);
    await call('POST', `/campaigns/${id}/unarchive`);
    expect(await entriesAbout(id)).toMatchObject([{ event: 'campaign.created' }]);
  });

  it('have one entry with the number of campaigns that were deleted at once', async () => {
    const made = [await make('/campaigns', draft), await make('/campaigns', draft)];
    const ids = made.map(({ data }) => data.id as string);
    await call('POST', '/campaigns/bulk-update', { ids, delete: true });
    const { body } = await call('GET', '/security-events?event=campaign.deleted');
    expect(body.data).toMatchObject([{ target: null, details: { count: 2 }, count: 1 }]);
  });
});
