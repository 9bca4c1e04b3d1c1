import { expect, it } from 'vitest';
import { createOptInActivities } from '../../../activities/opt-in.ts';
import { readOptInTokens } from '../../../db/transactions/contacts/run-opt-in.ts';
import { newAddress, useShop } from '../../support/projects/shop.ts';

/** Calls the activity of an opt-in request directly, because no worker runs here. */

const shop = await useShop();
const { api, call } = shop;
const { db, renderer } = api.services;
const { apiUrl } = api.services.config;
await call('PUT', '/consent-policy', { from: `team@${shop.domain}` });

async function requested(more: object = {}) {
  const email = newAddress();
  await call('POST', '/contacts', { email, confirm: true, ...more });
  const { id } = await db
    .selectFrom('opt_in')
    .select('id')
    .where('email', '=', email)
    .executeTakeFirstOrThrow();
  return { email, id };
}

const tokenOf = async (id: string) =>
  (await readOptInTokens(db, [id], () => [id.replaceAll('-', '').padEnd(64, '0')])).get(id)!;

it('makes a mail that fails over the cap of the project, and waits', async () => {
  const billingRules = { freeTierPerMonth: 1 };
  const { ADVANCE_OPT_IN } = createOptInActivities({ db, renderer, apiUrl, billingRules });
  const outcomes = [];
  for (const { email, id } of [await requested(), await requested()]) {
    const rest = await ADVANCE_OPT_IN(id);
    expect(rest).toMatchObject({ next: 'end' });
    expect(await ADVANCE_OPT_IN(id)).toMatchObject({ next: 'end' });
    const mails = await shop.emailsTo(email);
    outcomes.push(...mails.map(({ status, error }) => [status, error]));
    expect(await shop.contact(email)).toMatchObject({ consent: 'pending' });
  }
  expect(outcomes).toEqual([
    ['PENDING', null],
    ['FAILED', 'billing_limit'],
  ]);
});

it('does nothing for a request that is over', async () => {
  const { ADVANCE_OPT_IN } = createOptInActivities({ db, renderer, apiUrl, billingRules: null });
  const { email, id } = await requested();
  await call('PATCH', `/contacts/${(await shop.contact(email))!.id}`, { subscribed: false });
  expect(await ADVANCE_OPT_IN(id)).toBeNull();
  expect(await shop.emailsTo(email)).toEqual([]);
});

it('is confirmed in the language of the contact, also while the project is disabled', async () => {
  const { email, id } = await requested({ data: { locale: 'de-AT' } });
  const token = await tokenOf(id);
  const disabled = { disabled_reason: 'MANUAL' };
  await db.updateTable('project').set(disabled).where('id', '=', shop.project.id).execute();
  const page = await api.request('GET', `/confirm/${token}`);
  expect([page.status, page.body]).toEqual([200, expect.stringContaining('<html lang="de">')]);
  expect(page.body).toContain('Anmeldung bestätigen');
  const answers = await Promise.all(
    ['', 'a=b', '{"x":'].map((body) => api.request('POST', `/confirm/${token}`, { body })),
  );
  expect(answers.map(({ status }) => status)).toEqual([200, 200, 200]);
  expect(await shop.contact(email)).toMatchObject({ subscribed: true, consent: 'confirmed' });
  const enabled = { disabled_reason: null };
  await db.updateTable('project').set(enabled).where('id', '=', shop.project.id).execute();
});

it('is answered by the page of an unknown link where the token is none', async () => {
  for (const token of ['x', 'f'.repeat(64), 'F'.repeat(64), `${'0'.repeat(64)}0`]) {
    const path = `/confirm/${token}`;
    const [shown, posted] = [await api.request('GET', path), await api.request('POST', path)];
    expect([shown.status, posted.status]).toEqual([404, 404]);
    expect(shown.body).toContain('This link is not valid');
  }
});

it('is in the timeline of the contact', async () => {
  const { email } = await requested();
  const { id } = (await shop.contact(email))!;
  const { body } = await call('GET', `/contacts/${id}/timeline?types=consent`);
  expect(body.total).toBe(1);
  expect(body.data).toEqual([
    {
      at: expect.any(String),
      type: 'consent',
      title: 'Opt-in: not confirmed yet',
      detail: { consent: 'pending', topics: [] },
      links: {},
    },
  ]);
  await call('PATCH', `/contacts/${id}`, { subscribed: false });
  const after = await call('GET', `/contacts/${id}/timeline?types=consent`);
  expect(after.body.data[0].detail).toMatchObject({
    consent: 'expired',
    endedAt: expect.any(String),
  });
});
