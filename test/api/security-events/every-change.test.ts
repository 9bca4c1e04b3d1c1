import { beforeAll, describe, expect, it } from 'vitest';
import { endpoints } from '../../../api/endpoints.ts';
import { type TestApi, useApi } from '../../support/api.ts';
import { accountChanges, billingChanges, projectChanges } from '../../support/changes/accounts.ts';
import { campaignChanges } from '../../support/changes/campaigns.ts';
import { contactChanges } from '../../support/changes/contacts.ts';
import { exceptions } from '../../support/changes/exceptions.ts';
import {
  act,
  actWrongly,
  endpointNamed,
  entriesOf,
  type Play,
  withoutLog,
  type World,
} from '../../support/changes/play.ts';
import { domainChanges, settingChanges } from '../../support/changes/settings.ts';
import { workflowChanges } from '../../support/changes/workflows.ts';
import { useDnsServer } from '../../support/fakes/dns-server.ts';
import { useFakeStripe } from '../../support/fakes/stripe.ts';
import { useFolder } from '../../support/use.ts';

const stripe = await useFakeStripe();
const dns = await useDnsServer();
const local = await useApi({
  ...stripe.environment,
  PLATFORM_FROM_ADDRESS: '',
  STORAGE_LOCAL_DIR: await useFolder(),
  DASHBOARD_URL: 'https://app.shop.test',
});
const signing = await useApi({
  DNS_SERVERS: dns.address,
  SMTP_HOST: 'out.everpost.test',
  RETURN_PATH_HOST: 'mx.everpost.test',
  RETURN_PATH_DOMAIN: 'bounces.everpost.test',
});

const groups: [of: string, plays: Play[], api: TestApi][] = [
  ['campaigns', campaignChanges, local],
  ['workflows', workflowChanges, local],
  ['settings', settingChanges, local],
  ['sender domains', domainChanges, signing],
  ['contacts', contactChanges, local],
  ['projects', projectChanges, local],
  ['accounts', accountChanges, local],
  ['billing', billingChanges, local],
];

describe('the security log', () => {
  it('has an entry for each endpoint that changes something, or a reason for none', () => {
    const played = groups.flatMap(([, plays]) => plays.map(({ id }) => id));
    const expected = endpoints
      .filter(({ access, method }) => access !== 'open' && method !== 'GET')
      .map(({ id }) => id);
    const known = [...played, ...Object.keys(exceptions)];
    expect(known.toSorted()).toEqual(expected.toSorted());
  });
});

describe.each(groups)('a change of %s', (_, plays, api) => {
  let world: World;
  beforeAll(async () => {
    const { cookie, userId } = await api.signUp();
    world = { api, cookie, userId, project: await api.createProject(cookie), ids: {} };
  });

  const named = plays.map((play) => {
    const { method, path } = endpointNamed(play.id);
    return [`${method} ${path}`, play.event, play] as const;
  });
  it.each(named)('%s has one entry, %s, if and only if it is made', async (name, event, play) => {
    await play.prepare?.(world);
    const refused = await entriesOf(api, () => actWrongly(world, play));
    expect(refused.answer.status).toBeOneOf([400, 401, 403, 404, 409, 422]);
    expect(refused.events).toEqual([]);
    // If the entry cannot be written, the change is not made, so that it is possible afterwards.
    const failed = await withoutLog(api, () => entriesOf(api, () => act(world, play)));
    expect(failed.answer.status).toBe(500);
    expect(failed.events).toEqual([]);
    if (play.preparesAgain) await play.prepare?.(world);
    const made = await entriesOf(api, () => act(world, play));
    expect([made.answer.status, made.answer.body]).toEqual([
      expect.toSatisfy((status: number) => status < 300),
      expect.anything(),
    ]);
    expect(made.events).toEqual([event]);
    // The same again changes nothing.
    if (!event.endsWith('changed') || !/^(PATCH|PUT) /.test(name)) return;
    const again = await entriesOf(api, () => act(world, play));
    expect(again.events).toEqual([]);
  });
});

it('no entry has the address of a contact', async () => {
  const entries = await local.db.selectFrom('security_event').selectAll().execute();
  expect(entries.length).toBeGreaterThan(80);
  expect(JSON.stringify(entries)).not.toContain('people.test');
});
