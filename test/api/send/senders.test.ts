import { describe, expect, it } from 'vitest';
import { newAddress, refusal, useShop } from '../../support/projects/shop.ts';

const shop = await useShop();
const address = `team@${shop.domain}`;
const written = `Team <${address}>`;

/** Returns the sender of a mail that was sent with these fields. */
async function sentFrom(given: object) {
  const to = newAddress();
  const { status } = await shop.send({ to, ...given });
  expect(status).toBe(200);
  const [email] = await shop.emailsTo(to);
  return [email?.from_name, email?.from_email];
}

describe('a sender with its name before the address', () => {
  it.each([
    [written, 'Team'],
    [`"Team, the second" <${address}>`, 'Team, the second'],
    [`"A \\"good\\" team" <${address.toUpperCase()}>`, 'A "good" team'],
    [` Léa  <${address}> `, 'Léa'],
    [`<${address}>`, 'My shop'],
    [address, 'My shop'],
  ])('%s of /v1/send has the name %s', async (from, name) => {
    expect(await sentFrom({ from })).toEqual([name, address]);
  });

  it('loses its name to one in a field of its own', async () => {
    expect(await sentFrom({ from: written, name: 'Own' })).toEqual(['Own', address]);
  });

  it.each([
    'Team <team>',
    `Team ${address}`,
    `Team <${address}`,
    `Team <${address}> x`,
    `A\nB <${address}>`,
    `${'x'.repeat(101)} <${address}>`,
    '',
  ])('is refused: %j', async (from) => {
    expect(refusal(await shop.send({ to: newAddress(), from }))).toEqual([
      422,
      'VALIDATION_ERROR',
      'from invalid_string',
    ]);
  });

  it('is taken by templates', async () => {
    const template = { name: 'T', subject: 's', body: 'b', type: 'MARKETING', from: written };
    const { body } = await shop.call('POST', '/templates', template);
    expect(body).toMatchObject({ from: address, fromName: 'Team' });
    const own = await shop.call('POST', '/templates', { ...template, fromName: 'Own' });
    expect(own.body).toMatchObject({ from: address, fromName: 'Own' });
    const path = `/templates/${body.id}`;
    const again = await shop.call('PATCH', path, { from: `Other <${address}>` });
    expect(again.body).toMatchObject({ from: address, fromName: 'Other' });
    expect((await shop.call('PATCH', path, { from: address })).body.fromName).toBe('Other');
    expect((await shop.call('PATCH', path, { from: null })).body.from).toBeNull();
    const foreign = await shop.call('PATCH', path, { from: 'Team <team@foreign.example>' });
    expect(refusal(foreign)).toEqual([403, 'DOMAIN_NOT_REGISTERED']);
  });

  it('is taken by campaigns', async () => {
    const campaign = { name: 'C', subject: 's', body: 'b', from: written, audienceType: 'ALL' };
    const { body } = await shop.call('POST', '/campaigns', campaign);
    expect(body.data).toMatchObject({ from: address, fromName: 'Team' });
    const path = `/campaigns/${body.data.id}`;
    const changed = await shop.call('PUT', path, { from: written, fromName: 'Own' });
    expect(changed.body.data).toMatchObject({ from: address, fromName: 'Own' });
    const back = await shop.call('PUT', path, changed.body.data);
    expect(back.body.data).toMatchObject({ from: address, fromName: 'Own' });
  });
});
