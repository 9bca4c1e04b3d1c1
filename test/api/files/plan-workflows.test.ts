import { sql } from 'kysely';
import { beforeEach, describe, expect, it } from 'vitest';
import { type TestAnswer, useApi } from '../../support/api.ts';
import { type FileShop, openFileShop } from '../../support/projects/file-shop.ts';

/** A plan shows the effect of changed workflows on their active executions. */

const api = await useApi();
const { db } = api;

let shop: FileShop;

beforeEach(async () => {
  shop = await openFileShop(api);
});

const path = 'workflows/onboarding.yaml';

/** The file of a workflow: two days of delay, and then a mail if there is a template. */
function onboarding({
  amount = 2,
  name = 'Two days',
  template = '',
  enabled = true,
}: {
  amount?: number;
  name?: string;
  template?: string;
  enabled?: boolean;
} = {}): string {
  const mail = `  - {key: mail, type: SEND_EMAIL, name: Mail, template: ${template}}\n`;
  return `name: Onboarding
enabled: ${enabled}
trigger: {type: EVENT, config: {eventName: signed_up}}
steps:
  - {key: two-days, type: DELAY, name: ${name}, config: {amount: ${amount}, unit: days}}
${template === '' ? '' : mail}transitions:
  - {from: trigger, to: two-days}
${template === '' ? '' : '  - {from: two-days, to: mail}\n'}`;
}

/** Creates the workflow of `onboarding`, with `count` executions in its delay. */
async function withWaiting(count: number, templateId: string | null = null) {
  const mail = { key: 'mail', type: 'SEND_EMAIL', name: 'Mail', templateId, config: {} };
  const id = await shop.make('/workflows', {
    name: 'Onboarding',
    graph: {
      trigger: { type: 'EVENT', config: { eventName: 'signed_up' } },
      steps: [
        { type: 'TRIGGER' },
        {
          key: 'two-days',
          type: 'DELAY',
          name: 'Two days',
          config: { amount: 2, unit: 'days' },
        },
        ...(templateId === null ? [] : [mail]),
      ],
      transitions: [
        { from: 'trigger', to: 'two-days' },
        ...(templateId === null ? [] : [{ from: 'two-days', to: 'mail' }]),
      ],
    },
  });
  // Its template has no sender, so the API would not enable it.
  await sql`update workflow set enabled = true where id = ${id}`.execute(db);
  for (let number = 0; number < count; number += 1) {
    const contactId = await shop.make('/contacts', { email: `${crypto.randomUUID()}@x.test` });
    await shop.make(`/workflows/${id}/executions`, { contactId });
  }
  await sql`update execution set status = 'WAITING', current_step_id = step.id
    from workflow_step step where step.workflow_id = ${id} and step.key = 'two-days'
      and execution.workflow_id = ${id}`.execute(db);
  return id;
}

const onlyChange = (plan: TestAnswer['body']) => {
  expect(plan.changes).toHaveLength(1);
  return plan.changes[0];
};

const planned = async (file: string, more: object = {}) =>
  onlyChange(await shop.plan({ [path]: file }, more));

describe('a changed workflow', () => {
  it('shows how its active executions would go on, as a dry run', async () => {
    const id = await withWaiting(2);
    expect((await shop.plan({ [path]: onboarding() })).changes).toEqual([]);
    const { version } = (await shop.call('GET', `/workflows/${id}`)).body;
    const change = await planned(onboarding({ amount: 3 }), { examples: 1 });
    expect(change).toMatchObject({
      action: 'update',
      id,
      fields: [{ at: 'steps.two-days.config.amount', before: 2, after: 3 }],
      newVersion: version + 1,
      people: { active: 2, same: 0, differs: 2, unmappable: 0, why: { config: 2 } },
    });
    const { body: workflow } = await shop.call('GET', `/workflows/${id}`);
    const steps = workflow.steps.map((step: { type: string }) =>
      step.type === 'DELAY' ? { ...step, config: { amount: 3, unit: 'days' } } : step,
    );
    const dryRun = await shop.call('POST', `/workflows/${id}/dry-run`, {
      graph: { steps, transitions: workflow.transitions },
      examples: 1,
    });
    const { to: _, steps: atSteps, ...same } = dryRun.body.data;
    expect(change.people).toMatchObject(same);
    expect(change.people.steps).toEqual([{ ...atSteps[0], key: 'two-days' }]);
    expect(workflow.version).toBe(version);
  });

  it('counts executions at a step that is gone, and those at a step with another name', async () => {
    await withWaiting(2);
    const gone = onboarding().replaceAll('two-days', 'later');
    expect((await planned(gone)).people).toMatchObject({
      active: 2,
      unmappable: 2,
      why: { step_gone: 2 },
      steps: [{ key: 'two-days', waiting: 2, mapsTo: null, reason: 'step_gone' }],
    });
    const named = await planned(onboarding({ name: 'A while' }));
    expect(named.people).toMatchObject({ active: 2, same: 2, differs: 0, why: {} });
    expect(named.newVersion).not.toBeNull();
  });

  it('gets no version when only its name or enabled changes', async () => {
    await withWaiting(1);
    const renamed = await planned(onboarding().replace('name: Onboarding', 'name: Welcome'));
    expect(renamed).toMatchObject({ name: 'Welcome', newVersion: null, people: null });
    expect(await planned(onboarding({ enabled: false }))).toMatchObject({
      fields: [{ at: 'enabled', before: true, after: false }],
      newVersion: null,
      people: null,
    });
  });

  it('sends a mail without the topic of its template from a new version', async () => {
    const body = { name: 'Hi', subject: 'Hi', body: '<p>Hi</p>', type: 'HEADLESS' };
    await withWaiting(0, await shop.make('/templates', body));
    const file = onboarding({ template: 'hi', enabled: false });
    const without = file.replace('template: hi', 'template: hi, config: {topic: null}');
    const { id, changes } = await shop.plan({ [path]: without });
    expect(changes).toMatchObject([
      {
        fields: [{ at: 'enabled' }, { at: 'steps.mail.config.topic', before: null, after: null }],
        newVersion: 2,
      },
    ]);
    expect((await shop.call('POST', '/apply', { planId: id })).status).toBe(200);
    expect((await shop.files()).files[path]).toContain('topic: null');
    expect((await shop.plan({ [path]: without })).changes).toEqual([]);
  });

  it('keeps what its file leaves out: enabled, and the positions of steps', async () => {
    await withWaiting(0);
    const { files } = await shop.files();
    expect(files[path]).toContain('position');
    expect(
      (await shop.plan({ [path]: onboarding().replace('enabled: true\n', '') })).changes,
    ).toEqual([]);
  });
});

describe('a deleted workflow', () => {
  it('is blocked while executions are active', async () => {
    await withWaiting(2);
    const plan = await shop.plan({}, { prune: ['workflow/*'] });
    expect(onlyChange(plan)).toMatchObject({
      action: 'delete',
      key: 'onboarding',
      newVersion: null,
      people: { active: 2, unmappable: 2, why: { step_gone: 2 } },
      blocked: { code: 'WORKFLOW_HAS_ACTIVE_EXECUTIONS', details: { count: 2 } },
    });
    expect(plan.summary).toMatchObject({ delete: 1, blocked: 1 });
    await sql`update execution set status = 'COMPLETED', completed_at = now()
      where project_id = ${shop.id}`.execute(db);
    expect(onlyChange(await shop.plan({}, { prune: ['workflow/*'] }))).toMatchObject({
      people: { active: 0, why: {} },
      blocked: null,
    });
  });

  it('releases its templates', async () => {
    const templateId = await shop.make('/templates', {
      name: 'Welcome',
      subject: 'Hi',
      body: 'Hi',
      type: 'TRANSACTIONAL',
    });
    await withWaiting(0, templateId);
    const blocked = onlyChange(await shop.plan({}, { prune: ['template/*'] }));
    expect(blocked).toMatchObject({
      blocked: { code: 'TEMPLATE_IN_USE' },
      usedBy: [{ kind: 'workflow', key: 'onboarding', active: 0 }],
    });
    const both = await shop.plan({}, { prune: ['template/*', 'workflow/*'] });
    expect(both.summary).toMatchObject({ delete: 2, blocked: 0 });
    expect(both.changes[1].usedBy).toEqual([]);
  });
});

describe('a changed template', () => {
  it('reaches the executions of the workflows that use it', async () => {
    const templateId = await shop.make('/templates', {
      name: 'Welcome',
      subject: 'Hi',
      body: 'Hi',
      type: 'TRANSACTIONAL',
    });
    await withWaiting(3, templateId);
    const file = '---\nname: Welcome\nsubject: Hello\ntype: TRANSACTIONAL\n---\nHi';
    const plan = await shop.plan({ 'templates/welcome.html': file });
    expect(onlyChange(plan).usedBy).toEqual([{ kind: 'workflow', key: 'onboarding', active: 3 }]);
  });
});

describe('the file of a workflow', () => {
  it('is refused at its step when it is enabled and cannot run', async () => {
    const file = onboarding().replace(
      'transitions:\n',
      '  - {key: mail, type: SEND_EMAIL, name: Mail}\ntransitions:\n  - {from: two-days, to: mail}\n',
    );
    expect(await shop.refused({ [path]: file })).toEqual([[`files.${path}#steps.mail`, 'custom']]);
    const off = file.replace('enabled: true', 'enabled: false');
    expect((await shop.plan({ [path]: off })).summary).toMatchObject({ create: 1 });
  });

  it('may use a secret that does not exist yet, with a warning', async () => {
    const webhook =
      '  - {key: crm, type: WEBHOOK, name: Crm, config: {url: "https://crm.example/{{secret.NOPE}}", method: POST, headers: {Authorization: "Token t={{secret.NOPE}}"}}}\n';
    const file = onboarding().replace(
      'transitions:\n',
      `${webhook}transitions:\n  - {from: two-days, to: crm}\n`,
    );
    const plan = await shop.plan({ [path]: file });
    expect(plan.warnings).toEqual([
      {
        code: 'unknown_secret',
        path,
        at: 'steps.crm.config.url',
        message: expect.stringContaining('NOPE'),
      },
      expect.objectContaining({
        code: 'unknown_secret',
        at: 'steps.crm.config.headers.Authorization',
      }),
    ]);
    await shop.call('PUT', '/secrets/NOPE', { value: 'hush' });
    expect((await shop.plan({ [path]: file })).warnings).toEqual([]);
  });

  it('shows no hidden value, also of a header that changes', async () => {
    const url = 'https://crm.example/in';
    const webhook = (token: string) =>
      `  - {key: crm, type: WEBHOOK, name: Crm, config: {url: "${url}", method: POST, headers: {Authorization: "${token}"}}}\n`;
    const withToken = (token: string) =>
      onboarding().replace(
        'transitions:\n',
        `${webhook(token)}transitions:\n  - {from: two-days, to: crm}\n`,
      );
    const created = await shop.plan({ [path]: withToken('Bearer hush-hush') });
    expect(JSON.stringify(created)).not.toContain('hush-hush');
    expect(created.summary.create).toBe(1);
  });
});

it('warns about templates that would be sent with mistakes', async () => {
  const file =
    '---\nname: Sale\nsubject: Sale\ntype: HEADLESS\n---\n<img src="https://x.example/a.png"> {{ name }}';
  const { warnings } = await shop.plan({ 'templates/sale.html': file });
  expect(warnings.map(({ code, at }: { code: string; at: string }) => [code, at])).toEqual(
    expect.arrayContaining([
      ['missing_unsubscribe_link', 'body'],
      ['image_without_alt', 'body'],
    ]),
  );
  expect(JSON.stringify(warnings)).not.toContain('unknown_variable');
});

it('compares policies once they are set, and never deletes them', async () => {
  const file = 'timeZone: Europe/Berlin\n';
  const created = await shop.plan({ 'policies/send.yaml': file });
  expect(onlyChange(created)).toMatchObject({ action: 'create', id: null, name: 'send' });
  await shop.call('PUT', '/send-policy', { timeZone: 'Europe/Berlin' });
  expect((await shop.plan({ 'policies/send.yaml': file })).changes).toEqual([]);
  const changed = await shop.plan({ 'policies/send.yaml': 'timeZone: Europe/Paris\n' });
  expect(onlyChange(changed)).toMatchObject({
    action: 'update',
    fields: [{ at: 'timeZone', before: 'Europe/Berlin', after: 'Europe/Paris' }],
  });
  expect((await shop.plan({}, { prune: ['send-policy/*'] })).changes).toEqual([]);
});

it('keeps masked headers of a subscription, and takes new ones', async () => {
  await shop.make('/event-subscriptions', {
    url: 'https://hooks.shop.example/in',
    events: ['email.*'],
    description: 'CRM',
    headers: { 'X-Token': 'hush-hush' },
  });
  const { files } = await shop.files();
  expect((await shop.plan(files)).summary).toMatchObject({ unchanged: 1 });
  const file = files['subscriptions/crm.yaml']!;
  expect(
    (await shop.plan({ 'subscriptions/crm.yaml': file.replace('•••', 'hush-hush') })).changes,
  ).toEqual([]);
  const plan = await shop.plan({ 'subscriptions/crm.yaml': file.replace('•••', 'new-token') });
  expect(onlyChange(plan)).toMatchObject({ action: 'update', fieldCount: 1 });
  expect(onlyChange(plan).fields[0].at).toBe('headers.X-Token');
  expect(JSON.stringify(plan)).not.toMatch(/hush-hush|new-token/);
});
