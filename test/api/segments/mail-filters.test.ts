import { randomUUID } from 'node:crypto';
import { sql } from 'kysely';
import { beforeAll, describe, expect, it } from 'vitest';
import { insertTestCampaign, insertTestEmail } from '../../support/projects/mails.ts';
import { keyed, trigger, ways } from '../../support/projects/portable-graph.ts';
import { useShop } from '../../support/projects/shop.ts';
import { errorFields } from '../../support/projects/workflow-api.ts';

/** Filters on what happened to the mail of one campaign or template. */

const shop = await useShop();
const { call, project } = shop;
const { db } = shop.api;

const happened = (field: string, operator = 'triggered', more: object = {}) => ({
  operator: 'AND',
  conditions: [{ field, operator, ...more }],
});

const linkId = '0123456789abcdef';
let campaignId: string;
let templateId: string;
const contactIds = new Map<string, string>();

/** Stores a sent mail to a contact, unless the fields say otherwise. */
const mail = (
  name: string,
  campaign: string,
  fields: Parameters<typeof insertTestEmail>[2] = {},
): Promise<string> =>
  insertTestEmail(
    db,
    { projectId: project.id, contactId: contactIds.get(name)!, campaignId: campaign },
    { sent_at: daysAgo(9), ...fields },
  );

const daysAgo = (days: number) => new Date(Date.now() - days * 86_400_000);

beforeAll(async () => {
  for (const name of ['ann', 'bob', 'cy', 'dan']) {
    const { body } = await call('POST', '/contacts', { email: `${name}@people.test` });
    contactIds.set(name, body.id);
  }
  campaignId = await insertTestCampaign(db, project.id);
  templateId = await shop.createTemplate();
  const other = await insertTestCampaign(db, project.id);
  const unsent = { status: 'FAILED', sent_at: null, message_id: null } as const;
  await mail('ann', campaignId, { opened_at: daysAgo(8), opens: 1 });
  const clicked = await mail('bob', campaignId, {
    template_id: templateId,
    clicked_at: daysAgo(9),
    clicks: 1,
    human_clicked_at: daysAgo(8),
    converted_at: daysAgo(2),
  });
  await sql`
    insert into email_link (owner_id, link_id, email_created_at, email_id, clicks, human_clicks,
        machine_clicks, first_at, last_at)
      select owner_id, ${linkId}, created_at, id, 1, 1, 0, ${daysAgo(8)}, ${daysAgo(8)}
        from email, unnest(array[campaign_id, template_id]) as owner_id where id = ${clicked}`.execute(
    db,
  );
  await mail('bob', other, { opened_at: daysAgo(1), opens: 1 });
  await mail('cy', campaignId, { ...unsent, error: 'suppressed' });
  await mail('dan', campaignId, { ...unsent, error: '550 no', refusal: 'recipient_refused' });
});

/** The names of the contacts that meet a condition, as a segment and as a CONDITION step. */
async function matching(condition: object): Promise<string> {
  const made = await call('POST', '/segments', { name: randomUUID(), condition });
  expect([made.status, made.body.error]).toEqual([201, undefined]);
  const { body } = await call('GET', `/segments/${made.body.id}/contacts?sort=email`);
  const members = (body.data as { email: string }[]).map(({ email }) => email.split('@')[0]!);
  const inSteps = [];
  for (const name of contactIds.keys()) if (await isMetByStep(condition, name)) inSteps.push(name);
  expect(inSteps).toEqual(members.toSorted());
  return inSteps.join(' ');
}

const graphWith = (filter: object) => ({
  trigger: { type: 'EVENT', config: { eventName: 'joined' } },
  exitRules: [],
  steps: [
    trigger,
    keyed('which', 'CONDITION', {
      config: { mode: 'filter', branches: [{ id: 'met', name: 'Met', filter }] },
    }),
    keyed('a', 'EXIT', { config: { reason: 'met' } }),
    keyed('b', 'EXIT', { config: { reason: 'not met' } }),
  ],
  transitions: ways('trigger>which', 'which:met>a', 'which:default>b'),
});

async function isMetByStep(condition: object, name: string): Promise<boolean> {
  const graph = graphWith(condition);
  const { status, body } = await call('POST', '/workflows', { name: randomUUID(), graph });
  expect([status, body.error]).toEqual([201, undefined]);
  const { body: played } = await call('POST', `/workflows/${body.id}/simulate`, {
    contactId: contactIds.get(name),
  });
  return played.data.exitReason === 'met';
}

describe('a filter on the mail of a campaign', () => {
  it.each([
    ['opened', 'triggered', {}, 'ann'],
    ['opened', 'notTriggered', {}, 'bob cy dan'],
    ['sent', 'triggered', {}, 'ann bob'],
    ['opened', 'triggeredWithin', { value: 7, unit: 'days' }, ''],
    ['opened', 'triggeredOlderThan', { value: 7, unit: 'days' }, 'ann'],
    ['failed', 'triggered', {}, 'dan'],
    ['withheld', 'triggeredWithin', { value: 1, unit: 'hours' }, 'cy'],
    ['humanOpened', 'triggered', {}, ''],
    ['humanClicked', 'triggered', {}, 'bob'],
    ['humanClicked', 'triggeredWithin', { value: 7, unit: 'days' }, ''],
    ['converted', 'triggeredWithin', { value: 7, unit: 'days' }, 'bob'],
    [`link.${linkId}`, 'triggered', {}, 'bob'],
    [`link.${linkId}`, 'triggeredWithin', { value: 7, unit: 'days' }, ''],
    ['link.ffffffffffffffff', 'notTriggered', {}, 'ann bob cy dan'],
  ])('%s %s %j has the right members', async (event, operator, more, expected) => {
    const field = `campaign.${campaignId}.${event}`;
    expect(await matching(happened(field, operator, more))).toBe(expected);
  });

  it('asks about the mail of a template, too', async () => {
    expect(await matching(happened(`template.${templateId}.sent`))).toBe('bob');
    expect(await matching(happened(`template.${templateId}.opened`))).toBe('');
    expect(await matching(happened(`template.${templateId}.link.${linkId}`))).toBe('bob');
  });

  it('tells people from machines over all mail, too', async () => {
    expect(await matching(happened('email.humanClicked'))).toBe('bob');
    expect(await matching(happened('email.humanOpened'))).toBe('');
    expect(await matching(happened('email.opened'))).toBe('ann bob');
  });

  it('counts the mail of a campaign that was deleted since', async () => {
    const deleted = await insertTestCampaign(db, project.id);
    await mail('cy', deleted);
    const condition = happened(`campaign.${deleted}.sent`);
    const { body: segment } = await call('POST', '/segments', { name: 'Reached', condition });
    await sql`delete from campaign where id = ${deleted}`.execute(db);
    const { body } = await call('GET', `/segments/${segment.id}/contacts`);
    expect(body.data.map(({ email }: { email: string }) => email)).toEqual(['cy@people.test']);
  });
});

describe('a filter is refused', () => {
  it('if it names a campaign or template that the project does not have', async () => {
    const foreign = await insertTestCampaign(db, shop.other.id);
    const conditions = [
      { field: `campaign.${foreign}.opened`, operator: 'triggered' },
      { field: `template.${campaignId}.opened`, operator: 'triggered' },
      { field: 'template.spring.opened', operator: 'notTriggered' },
      { field: `campaign.${campaignId}.read`, operator: 'triggered' },
    ];
    const unknown = { operator: 'AND', conditions: conditions.slice(0, 3) };
    const segment = await call('POST', '/segments', { name: 'S', condition: unknown });
    const at = 'condition.conditions';
    expect([segment.status, ...errorFields(segment.body)]).toEqual([
      422,
      `${at}.0.field not_found`,
      `${at}.1.field not_found`,
      `${at}.2.field not_found`,
    ]);
    const wrong = { operator: 'AND', conditions: conditions.slice(3) };
    const other = await call('POST', '/segments', { name: 'S', condition: wrong });
    expect(errorFields(other.body)).toEqual([`${at}.0.field unsupported_field`]);
    const workflow = await call('POST', '/workflows', { name: 'W', graph: graphWith(unknown) });
    const inStep = 'graph.steps.which.config.branches.0.filter.conditions';
    expect(errorFields(workflow.body)).toEqual(
      [0, 1, 2].map((index) => `${inStep}.${index}.field not_found`),
    );
  });
});
