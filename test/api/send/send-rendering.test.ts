import { describe, expect, it } from 'vitest';
import { watchTransactions } from '../../support/open-transactions.ts';
import { newAddress, useShop } from '../../support/projects/shop.ts';

const shop = await useShop();
const watched = watchTransactions(shop.api.services.renderer, shop.api.db);
shop.api.services.renderer = watched.renderer;
const open = watched.open;

const costly = '{% for n in (1..3) %}{{n}}{{name}} {% endfor %}<a href="{{unsubscribeUrl}}">x</a>';

describe('a costly template of /v1/send', () => {
  it.each([
    ['a new contact', false],
    ['a known contact', true],
  ])('is rendered once and holds nothing up: %s', async (_, isKnown) => {
    const to = newAddress();
    if (isKnown) await shop.call('POST', '/contacts', { email: to, data: { name: 'Eve' } });
    open.length = 0;
    const { status, body } = await shop.send({ to, body: costly, data: { name: 'Ada' } });
    expect(status).toBe(200);
    expect(open).toEqual([0]);
    const [email, ...others] = await shop.emailsTo(to);
    const [{ contact }] = body.data.emails;
    const link = `${shop.api.url}/unsubscribe/${contact.id}?e=${email!.id}`;
    expect(email!.body).toBe(`1Ada 2Ada 3Ada <a href="${link}">x</a>`);
    expect(others).toEqual([]);
    expect(await shop.contact(to)).toMatchObject({ id: contact.id, data: { name: 'Ada' } });
  });

  it('records a changed subscription once', async () => {
    const to = newAddress();
    await shop.call('POST', '/contacts', { email: to, subscribed: false });
    await shop.send({ to, body: costly, subscribed: true });
    expect((await shop.eventsOf(to)).map(({ name }) => name)).toEqual(['contact.subscribed']);
  });

  it('says what the contact is when the mail is made, however many write it at once', async () => {
    const to = newAddress();
    const body = '{% for entry in data %}*{% endfor %}';
    const sent = await Promise.all(
      ['a', 'b', 'c', 'd', 'e', 'f'].map((name) => shop.send({ to, body, data: { [name]: 1 } })),
    );
    expect(sent.map(({ status }) => status)).toEqual(sent.map(() => 200));
    const texts = (await shop.emailsTo(to)).map((email) => email.body).toSorted();
    expect(texts).toEqual(['*', '**', '***', '****', '*****', '******']);
  });
});
