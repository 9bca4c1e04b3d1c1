import { describe, expect, it } from 'vitest';
import { newAddress, type Shop, useShop } from '../../support/projects/shop.ts';

const badge = 'Sent with Everpost';
const billing = {
  STRIPE_SECRET_KEY: 'sk_test_of_the_test',
  STRIPE_WEBHOOK_SECRET: 'whsec_of_the_test',
  STRIPE_PRICE_ONBOARDING: 'price_onboarding',
  STRIPE_PRICE_EMAIL_USAGE: 'price_usage',
};

const shop = await useShop(billing);

const subscribe = (subscription: string | null) =>
  shop.api.db
    .updateTable('project')
    .set({ subscription })
    .where('id', '=', shop.project.id)
    .execute();

async function bodyOf(on: Shop, given: object): Promise<string | null | undefined> {
  const to = newAddress();
  const answer = await on.send({ to, subscribed: true, ...given });
  expect(answer.status).toBe(200);
  return (await on.emailsTo(to))[0]?.body;
}

const byTemplate = async (type: string) => ({
  template: await shop.createTemplate({ type }),
  subject: undefined,
  body: undefined,
});

describe('the badge', () => {
  it('is in transactional and marketing mail of a project without subscription', async () => {
    expect(await bodyOf(shop, {})).toContain(badge);
    expect(await bodyOf(shop, await byTemplate('TRANSACTIONAL'))).toContain(badge);
    expect(await bodyOf(shop, await byTemplate('MARKETING'))).toContain(badge);
  });

  it('is not in headless mail', async () => {
    expect(await bodyOf(shop, await byTemplate('HEADLESS'))).not.toContain(badge);
  });

  it('is not in mail of a project with a subscription', async () => {
    await subscribe('sub_1');
    expect(await bodyOf(shop, {})).toBe('<p>Hello</p>');
    await subscribe(null);
  });

  it('is not on a server without billing', async () => {
    const free = await useShop();
    expect(await bodyOf(free, {})).toBe('<p>Hello</p>');
  });
});
