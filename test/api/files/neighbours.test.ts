import { sql } from 'kysely';
import { beforeEach, describe, expect, it } from 'vitest';
import { compareFiles } from '../../../api/files/planning/compare.ts';
import { makePlan } from '../../../api/files/planning/make-plan.ts';
import { readFiles } from '../../../api/files/reading/read.ts';
import { storeSendPolicy } from '../../../api/projects/send-policy.ts';
import { transact } from '../../../db/database.ts';
import { setFileKeys } from '../../../db/files/objects.ts';
import { codeOf, useApi } from '../../support/api.ts';
import { type FileShop, openFileShop } from '../../support/projects/file-shop.ts';
import { waitFor } from '../../support/wait-for.ts';

/** Plans and applies beside other requests. */

const api = await useApi({ WEBHOOK_ALLOW_PRIVATE: 'false' });
const { db, services } = api;

let shop: FileShop;

beforeEach(async () => {
  shop = await openFileShop(api);
});

const template = (body: string) => ({ name: 'Welcome', subject: 'Hi', body, type: 'HEADLESS' });
const welcome = '---\nname: Welcome\nsubject: Hi\ntype: HEADLESS\n---\n<p>Hi</p>';

const workflow = (step: string) => `name: Onboarding
enabled: true
trigger: {type: EVENT, config: {eventName: signed_up}}
steps:
  - ${step}
transitions:
  - {from: trigger, to: first}
`;
const delay = '{key: first, type: DELAY, name: Wait, config: {amount: 2, unit: days}}';
const mail = '{key: first, type: SEND_EMAIL, name: Mail, template: welcome}';

async function apply(files: Record<string, string>) {
  const { id } = await shop.plan(files);
  return shop.call('POST', '/apply', { planId: id });
}

describe('a plan', () => {
  it('that renames a workflow does not hold up its events', async () => {
    const { body } = await apply({ 'workflows/onboarding.yaml': workflow(delay) });
    const [{ id }] = body.result.objects;
    await transact(db, async (tx) => {
      await setFileKeys(tx, 'workflow', [{ id, key: 'renamed' }]);
      const track = { email: 'ada@shop.example', event: 'signed_up' };
      expect((await shop.call('POST', '/v1/track', track)).status).toBe(200);
    });
  });

  it('reads the stored templates of its workflows before its transaction', async () => {
    await shop.make('/templates', template('{% for n in (1..3) %}{{n}}{% endfor %}'));
    const open: number[] = [];
    const renderer: typeof services.renderer = {
      ...services.renderer,
      async inspect(...given) {
        const { rows } = await sql<{ count: number }>`
          select count(*)::int as count from pg_stat_activity
            where datname = current_database() and state = 'idle in transaction'`.execute(db);
        open.push(rows[0]!.count);
        return services.renderer.inspect(...given);
      },
    };
    const planner = { ...services, renderer, projectId: shop.id, causedBy: 'key:secret' };
    const files = { 'workflows/onboarding.yaml': workflow(mail) };
    const given = { files, variables: {}, prune: [], protect: [], examples: 0 };
    // The template has no sender.
    await expect(makePlan(planner, given)).rejects.toMatchObject({ code: 'VALIDATION_ERROR' });
    expect(open).toEqual([0, 0]);
  });

  it('does not keep the stored bodies of templates', async () => {
    const body = 'x'.repeat(1 << 20);
    await shop.make('/templates', template(body));
    await shop.make('/templates', { ...template(body), name: 'Other' });
    await shop.files();
    const { objects } = readFiles({ 'templates/welcome.html': welcome }, {});
    const prune = [{ kind: 'template' as const, beginning: '', isKey: false }];
    const { cipher } = services;
    const reader = { db, projectId: shop.id, cipher, checkTime() {} };
    const { changes } = await compareFiles(reader, objects, { prune, protect: [] });
    expect(changes.map(({ change }) => change.action)).toEqual(['delete', 'update']);
    expect(JSON.stringify(changes).length).toBeLessThan(10_000);
  });

  it('stores no hash from which hidden values could be guessed', async () => {
    await shop.make('/topics', { key: 'news', name: 'News', default: 'subscribed' });
    const { files } = await shop.files();
    const stored = async () => {
      const { id } = await shop.plan(files);
      const { rows } = await sql<{ reads: { hash: string }[] }>`
        select reads from plan where id = ${id}`.execute(db);
      return rows[0]!.reads[0]!.hash;
    };
    expect(await stored()).not.toBe(await stored());
  });

  it('refuses a subscription at a private address, as its own endpoint does', async () => {
    const file = (host: string) => ({
      'subscriptions/crm.yaml': `url: http://${host}/\nevents: ['*']\n`,
    });
    const refused = [['files.subscriptions/crm.yaml#url', 'not_allowed']];
    expect(await shop.refused(file('10.0.0.5'))).toEqual(refused);
    const { status, body } = await apply(file('hooks.example'));
    expect([status, body.error]).toEqual([200, undefined]);
    expect(await shop.refused(file('10.0.0.5'))).toEqual(refused);
    // An address that was allowed before stays.
    await sql`update event_subscription set url = 'http://10.0.0.5/'
      where project_id = ${shop.id}`.execute(db);
    const described = `${file('10.0.0.5')['subscriptions/crm.yaml']}description: CRM\n`;
    const plan = await shop.plan({ 'subscriptions/crm.yaml': described });
    expect(plan.summary).toMatchObject({ update: 1 });
  });
});

describe('an apply', () => {
  it('is stale if the send policy is changed at the same time', async () => {
    await shop.call('PUT', '/send-policy', { timeZone: 'Europe/Berlin' });
    const { files } = await shop.files();
    const path = 'policies/send.yaml';
    const file = files[path]!.replace('Europe/Berlin', 'Europe/Rome');
    const { id: planId } = await shop.plan({ [path]: file });
    const { applied } = await transact(db, async (tx) => {
      await storeSendPolicy(tx, shop.id, { timeZone: 'Europe/Paris' });
      const answer = shop.call('POST', '/apply', { planId });
      await waitFor('the apply waits', async () => {
        const { rows } = await sql`select from pg_stat_activity
          where datname = current_database() and wait_event_type = 'Lock'`.execute(db);
        return rows.length > 0 || null;
      });
      return { applied: answer };
    });
    const { status, body } = await applied;
    expect([status, body.error?.code]).toEqual([409, 'PLAN_STALE']);
    expect((await shop.call('GET', '/send-policy')).body.timeZone).toBe('Europe/Paris');
  });

  it('answers with the applied plan although its segments cannot be counted', async () => {
    await sql`create function refuse_count() returns trigger language plpgsql
      as $$ begin raise exception 'no count'; end $$`.execute(db);
    await sql`create trigger refuse_count before update of computed_at on segment for each row
      when (new.name = 'Uncounted') execute function refuse_count()`.execute(db);
    const segment =
      'name: Uncounted\ntype: DYNAMIC\nfilters:\n  operator: AND\n  conditions:\n    - {field: email, operator: contains, value: a}\n';
    const answer = await apply({ 'segments/uncounted.yaml': segment });
    await sql`drop trigger refuse_count on segment`.execute(db);
    await sql`drop function refuse_count`.execute(db);
    expect(codeOf(answer)).toEqual([200, undefined]);
    expect(answer.body.state).toBe('applied');
  });
});
