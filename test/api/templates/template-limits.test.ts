import { describe, expect, it } from 'vitest';
import { newAddress, useShop } from '../../support/projects/shop.ts';
import { cpuMs } from '../../support/processes/cpu-time.ts';

const shop = await useShop();

const saveTemplate = (body: string) =>
  shop.call('POST', '/templates', { name: 'Loop', subject: 's', body, type: 'TRANSACTIONAL' });

/** Returns the body of a mail with this body, and the CPU time of the request in milliseconds. */
async function sent(given: object): Promise<{ body: string | null; ms: number }> {
  const to = newAddress();
  const start = cpuMs();
  const answer = await shop.send({ to, ...given });
  const ms = cpuMs() - start;
  expect(answer.status).toBe(200);
  const [email] = await shop.emailsTo(to);
  return { body: email?.body ?? null, ms };
}

describe('a template that would never end', () => {
  const loop = '{% for i in (1..1000000000) %}x{% endfor %}';

  it('is saved, and sent at the cost of 3 seconds at most, with its tags as written', async () => {
    const saved = await saveTemplate(`{{name}}${loop}`);
    expect(saved.status).toBe(201);
    const { body, ms } = await sent({
      template: saved.body.id,
      subject: undefined,
      body: undefined,
      data: { name: 'Ada' },
    });
    expect(body).toBe(`Ada${loop}`);
    expect(ms).toBeLessThan(3_000);
  });

  it('leaves the server answering while it is rendered', async () => {
    const slow = '{% assign a = v | split: "" | sort_natural | sort | uniq %}{{ name }}';
    const data = {
      name: 'Ada',
      v: { value: 'ab'.repeat(1_000_000), persistent: false },
    };
    let isDone = false;
    const sending = sent({ body: slow, data }).finally(() => (isDone = true));
    let answered = 0;
    while (!isDone) {
      expect((await shop.api.request('GET', '/health')).status).toBe(200);
      answered += 1;
    }
    expect((await sending).body).toBe(slow.replace('{{ name }}', 'Ada'));
    expect(answered).toBeGreaterThan(5);
  });
});

describe('a large template', () => {
  it('is checked when it is saved and refused for a fault at its end', async () => {
    const large = '{{a}}'.repeat(9_999);
    expect((await saveTemplate(large)).status).toBe(201);
    const refused = await saveTemplate(`${large}{% if x %}`);
    expect(refused.status).toBe(422);
    expect(refused.body.error.errors).toMatchObject([{ field: 'body', code: 'invalid_template' }]);
  });

  it('of more than 10,000 tags is refused', async () => {
    const { status, body } = await saveTemplate('{{a}}'.repeat(10_001));
    expect(status).toBe(422);
    expect(body.error.errors).toMatchObject([
      { field: 'body', code: 'invalid_template', message: expect.stringContaining('10,000') },
    ]);
  });

  it('of more than 2 MB is refused', async () => {
    const { status, body } = await saveTemplate('x'.repeat(2 * 1024 * 1024 + 1));
    expect([status, body.error.errors[0].code]).toEqual([422, 'invalid_template']);
  });
});

describe('a template with a syntax error', () => {
  it('arrives unchanged when it is sent inline', async () => {
    expect((await sent({ body: '{% if x %}' })).body).toBe('{% if x %}');
  });
});
