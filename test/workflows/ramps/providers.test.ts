import { describe, expect, it } from 'vitest';
import { useEngine } from '../../support/engine.ts';
import { type AnswerTo, type SmtpPeer, useSmtpPeer } from '../../support/fakes/smtp-peer.ts';
import { newRoutedShop, type RoutedShop } from '../../support/projects/routed-shop.ts';
import { waitFor } from '../../support/wait-for.ts';

/** Ramps of the mail servers A and B of a project. */

const home = await useSmtpPeer();
const engine = await useEngine({
  SMTP_HOST: '127.0.0.1',
  SMTP_PORT: String(home.port),
  EMAIL_RATE_LIMIT_PER_SECOND: '0',
  EMAIL_RATE_PER_PROJECT_PER_SECOND: '0',
});

/** A project whose mail goes to A and, if A cannot take it, to B. `answer`: the replies of A. */
async function useTwo(answer?: AnswerTo) {
  const shop = await newRoutedShop(engine);
  const [a, b] = [await useSmtpPeer(answer), await useSmtpPeer()];
  const ids = [await shop.add('A', a), await shop.add('B', b)] as const;
  await shop.setRoutes(
    shop.route(
      ids.map((id) => ({ id, weight: 0 })),
      { onDown: 'next' },
    ),
  );
  const from = `team@${shop.domain}`;
  const template = { name: 'News', subject: 'News', body: '<p>News</p>', type: 'HEADLESS', from };
  const { body } = await shop.call('POST', '/templates', template);
  /** Sends mail that is not transactional. */
  const sendNews = () => shop.send({ template: body.id, subject: undefined, body: undefined });
  return { shop, a, b, ids, sendNews };
}

async function createRamp(shop: RoutedShop, providerId: string, more: object = {}) {
  const { body } = await shop.call('POST', '/ramps', {
    providerId,
    startPerDay: 2,
    days: 5,
    ...more,
  });
  return body.id as string;
}
const at = (peer: SmtpPeer) => peer.accepted.length;
type Email = Awaited<ReturnType<RoutedShop['read']>>;
const skippedOf = (email: Email | undefined) =>
  email?.['trace'].find(({ state }: { state: string }) => state === 'routed').detail.skipped;

describe('a ramp of a provider', () => {
  it('holds the mail of this provider, and lets transactional mail go', async () => {
    const { shop, a, b, ids, sendNews } = await useTwo();
    const id = await createRamp(shop, ids[0]);
    const mails = [await sendNews(), await sendNews(), await sendNews()];
    await waitFor('two mails', () => at(a) === 2);
    const held = await waitFor('a held mail', async () => {
      for (const mail of mails) {
        const email = await shop.read(mail);
        if (email['hold']?.reason === 'warm_up') return email;
      }
      return null;
    });
    expect(held['status']).toBe('PENDING');
    await shop.readIn(await shop.send(), 'SENT');
    expect([at(a), at(b), at(home)]).toEqual([3, 0, 0]);
    const { body } = await shop.call('GET', `/ramps/${id}`);
    expect(body).toMatchObject({ used: 3, cap: 2, held: 1 });
    await shop.call('DELETE', `/ramps/${id}`);
    await waitFor('the held mail', () => at(a) === 4);
  });

  it('with `over: next` moves the rest to the next provider, until this one is full, too', async () => {
    const { shop, a, b, ids, sendNews } = await useTwo();
    const first = await createRamp(shop, ids[0], { over: 'next' });
    const second = await createRamp(shop, ids[1], { startPerDay: 1 });
    const mails: string[] = [];
    for (let count = 0; count < 4; count += 1) mails.push(await sendNews());
    await waitFor('three mails', () => at(a) + at(b) === 3);
    expect([at(a), at(b)]).toEqual([2, 1]);
    const emails = await Promise.all(mails.map((mail) => shop.read(mail)));
    const moved = emails.find((email) => email['providerId'] === ids[1] && !email['hold']);
    expect(skippedOf(moved)).toEqual([{ providerId: ids[0], reason: 'ramp' }]);
    const rampOf = async (id: string) => (await shop.call('GET', `/ramps/${id}`)).body;
    expect(await rampOf(first)).toMatchObject({ used: 2, held: 0 });
    expect(await rampOf(second)).toMatchObject({ used: 1, held: 1 });
  });

  it('with `over: next` holds the rest without a next provider', async () => {
    const { shop, a, ids, sendNews } = await useTwo();
    await shop.setRoutes(shop.route([ids[0]]));
    await createRamp(shop, ids[0], { over: 'next', startPerDay: 1 });
    await Promise.all([sendNews(), sendNews()]);
    await waitFor('a held mail', async () => {
      const { body } = await shop.call('GET', '/delivery');
      return body.held.warm_up === 1;
    });
    expect(at(a)).toBe(1);
  });

  it('is not passed by mail that another provider has refused', async () => {
    const refusesAll: AnswerTo = (line) => (line.startsWith('MAIL') ? '550 5.7.1 no' : undefined);
    const { shop, a, b, ids, sendNews } = await useTwo(refusesAll);
    const first = await createRamp(shop, ids[0], { startPerDay: 100 });
    const second = await createRamp(shop, ids[1], { startPerDay: 1 });
    for (let count = 0; count < 3; count += 1) await sendNews();
    await waitFor('three refusals', () => {
      return a.commands.filter((command) => command.startsWith('MAIL')).length >= 3;
    });
    await waitFor('a mail at B', () => at(b) === 1);
    expect([at(a), at(b)]).toEqual([0, 1]);
    const rampOf = async (id: string) => (await shop.call('GET', `/ramps/${id}`)).body;
    await waitFor('the count', async () => (await rampOf(second)).used === 1);
    await waitFor('the refusals', async () => (await rampOf(first)).used === 0);
  });
});
