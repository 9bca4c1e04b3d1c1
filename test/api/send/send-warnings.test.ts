import { describe, expect, it } from 'vitest';
import { newAddress, useShop } from '../../support/projects/shop.ts';

const shop = await useShop();
const loop = '{% for i in (1..100000000) %}x{% endfor %}';

/** Returns the trace of a mail in a response, as GET /emails/{id} shows it. */
async function traceOf(answer: { body: { data: { emails: { email: string }[] } } }) {
  const [sent] = answer.body.data.emails;
  return (await shop.call('GET', `/emails/${sent!.email}`)).body.trace;
}

describe('a mail of /v1/send that cannot be rendered', () => {
  it('is sent with placeholders replaced, and the answer and its trace say why', async () => {
    const to = newAddress();
    const answer = await shop.send({ to, body: loop });
    expect(answer.status).toBe(200);
    expect(answer.body.data.warnings).toEqual([
      { code: 'liquid_limit', message: expect.any(String), line: 1, column: 1 },
    ]);
    const [{ message }] = answer.body.data.warnings;
    expect((await traceOf(answer)).slice(0, 2)).toMatchObject([
      { state: 'queued' },
      { state: 'rendered_plainly', detail: { code: 'liquid_limit', message, line: 1 } },
    ]);
    expect((await shop.emailsTo(to))[0]?.body).toBe(loop);
  });

  it('is named once for many recipients, subject and body apart', async () => {
    const to = [newAddress(), newAddress(), newAddress()];
    const { body } = await shop.send({ to, subject: '{% if %}', body: 'a\n{% if x %}' });
    expect(body.data.warnings).toMatchObject([
      { code: 'liquid_syntax', line: 1, column: 1 },
      { code: 'liquid_syntax', line: 2, column: 1 },
    ]);
    expect(body.data.emails).toHaveLength(3);
  });

  it('has the same warnings when the request is repeated under its key', async () => {
    const key = { 'Idempotency-Key': newAddress() };
    const mail = { to: newAddress(), body: '{% if x %}' };
    const first = await shop.send(mail, key);
    expect(first.body.data.warnings).toHaveLength(1);
    expect((await shop.send(mail, key)).body).toEqual(first.body);
  });

  it('is the only one with warnings: without a fault there is no such key', async () => {
    const answer = await shop.send({ to: newAddress(), body: '{{ name | shout }}{{ nmae }}' });
    expect(Object.keys(answer.body.data).toSorted()).toEqual(['emails', 'timestamp']);
    expect(await traceOf(answer)).not.toContainEqual(
      expect.objectContaining({ state: 'rendered_plainly' }),
    );
  });
});
