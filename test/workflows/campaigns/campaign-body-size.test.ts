import { describe, expect, it } from 'vitest';
import {
  act,
  campaignIn,
  createCampaign,
  deleteContacts,
} from '../../support/projects/campaigns.ts';
import { useEngine } from '../../support/engine.ts';
import { newAddress } from '../../support/projects/shop.ts';

const engine = await useEngine();

describe('a campaign whose body is too large for one of its contacts', () => {
  it.each([
    ['by plain placeholders', '<p>{{about}}</p>'.repeat(100)],
    ['by a tag', '{% for i in (1..100) %}<p>{{about}}</p>{% endfor %}'],
  ])('%s fails that message, says so, and reaches the others', async (_, body) => {
    await deleteContacts(engine);
    const [small, large] = [newAddress(), newAddress()];
    const contacts = [
      { email: small, data: { about: 'me' } },
      { email: large, data: { about: 'x'.repeat(30_000) } },
    ];
    const ids: string[] = [];
    for (const contact of contacts) {
      ids.push((await engine.call('POST', '/contacts', contact)).body.id);
    }
    const id = await createCampaign(engine, { body });
    await act(engine, id, 'send');
    await campaignIn(engine, id, 'SENT', 60_000);
    const emails = await engine.api.db
      .selectFrom('email')
      .select(['to_email', 'status', 'error', 'body', 'attempts'])
      .where('campaign_id', '=', id)
      .execute();
    expect(emails.find((email) => email.to_email === small)).toMatchObject({ status: 'DELIVERED' });
    expect(emails.find((email) => email.to_email === large)).toEqual({
      to_email: large,
      status: 'FAILED',
      error: 'message_too_large',
      body: null,
      attempts: 0,
    });
    const recipient = await engine.call('GET', `/campaigns/${id}/recipients/${ids[1]}`);
    expect(recipient.body).toMatchObject({ included: true, reason: 'withheld' });
  });
});

describe('the headers of a campaign that is no marketing', () => {
  it.each([
    ['by plain placeholders', '<a href="{{unsubscribeUrl}}">No more</a>'],
    ['by a tag', '{% if true %}<a href="{{unsubscribeUrl}}">No more</a>{% endif %}'],
  ])('made %s are told by the list as by the mail itself', async (_, body) => {
    await deleteContacts(engine);
    await engine.call('POST', '/contacts', { email: newAddress() });
    const id = await createCampaign(engine, { body, messageType: 'TRANSACTIONAL' });
    await act(engine, id, 'send');
    await campaignIn(engine, id, 'SENT', 60_000);
    const { body: list } = await engine.call('GET', `/emails?campaignId=${id}`);
    const [listed] = list.data;
    const { body: email } = await engine.call('GET', `/emails/${listed.id}`);
    expect(listed.headers).toEqual(email.headers);
    const own = { name: 'List-Unsubscribe', value: expect.stringContaining(listed.contactId) };
    expect(listed.headers).toContainEqual(own);
    expect(JSON.stringify(listed.headers)).toContain(`e=${listed.id}`);
  });
});
