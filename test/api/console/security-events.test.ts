import { expect, it } from 'vitest';
import { useApi } from '../../support/api.ts';

const api = await useApi({ PLATFORM_FROM_ADDRESS: '' });
const { cookie, email } = await api.signUp();
const { id, secretKey: key } = await api.createProject(cookie);

async function open(path: string, as = cookie) {
  const { status, headers, body } = await api.request('GET', `/console/${id}${path}`, {
    cookie: as,
  });
  return { status, headers, text: (body as string).replaceAll(/[^\S\n]+/g, ' ') };
}

const member = await api.signUp();
const body = { email: member.email };
await api.request('POST', `/projects/${id}/members`, { cookie, body });
for (const value of ['a first value', 'a second value']) {
  await api.request('PUT', '/secrets/SHOP_TOKEN', { key, body: { value } });
}
await api.request('PUT', '/send-policy', { key, body: { timeZone: 'Europe/Berlin' } });

it('shows who changed what, and finds it by event, actor and record', async () => {
  const { text } = await open('/security-events');
  for (const part of ['member.added', email, 'SHOP_TOKEN', '× 2', 'Secret key', 'Security log']) {
    expect(text).toContain(part);
  }
  expect(text).toMatch(/<code>timeZone<\/code> UTC → Europe\/Berlin/);
  const found = await open('/security-events?event=secret.*&actorId=secret&targetId=SHOP_TOKEN');
  expect(found.text).toContain('secret.set');
  expect(found.text).not.toContain('member.added');
  const wrong = await open('/security-events?from=yesterday');
  expect([wrong.status, wrong.text]).toEqual([422, expect.stringContaining('Must be a date-time')]);
});

it('exports what the filters find, as a file', async () => {
  const { text } = await open('/security-events?event=secret.*');
  const path = /href="\/console\/[^/]+(\/security-events\/export[^"]*)"/.exec(text)?.[1] ?? '';
  const file = await open(path.replaceAll('&amp;', '&'));
  expect(file.headers.get('content-type')).toContain('application/x-ndjson');
  expect(file.headers.get('content-disposition')).toContain('security-log.ndjson');
  const lines = file.text.trim().split('\n');
  expect(lines.map((line) => (JSON.parse(line) as { event: string }).event)).toEqual([
    'secret.set',
  ]);
});

it('refuses members who are no administrators', async () => {
  for (const path of ['/security-events', '/security-events/export']) {
    const { status, text } = await open(path, member.cookie);
    expect([status, text]).toEqual([403, expect.stringContaining('INSUFFICIENT_ROLE')]);
  }
});
