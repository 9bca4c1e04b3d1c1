import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { endpoints } from '../../../api/endpoints.ts';
import { useApi, type TestAnswer } from '../../support/api.ts';
import { formWith } from '../../support/projects/upload.ts';
import { useFolder } from '../../support/use.ts';

const dir = await useFolder();
const api = await useApi({ STORAGE_LOCAL_DIR: dir });
const { secretKey: key } = await api.createProject((await api.signUp()).cookie);

const policyOf = ({ headers }: TestAnswer) => headers.get('content-security-policy');
const nothing = "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

function expectSafe(answer: TestAnswer): void {
  expect(answer.headers.get('x-content-type-options')).toBe('nosniff');
  expect(policyOf(answer)).toContain("default-src 'none'");
  expect(policyOf(answer)).toContain("frame-ancestors 'none'");
  expect(policyOf(answer)).toContain("base-uri 'none'");
  expect(policyOf(answer)).toContain('form-action ');
}

describe('what every answer carries', () => {
  it.each(endpoints.map(({ method, path: at }) => [method, at] as const))(
    'is there on %s %s',
    async (method, at) => {
      const to = at.replaceAll(/\{\w+\}/g, randomUUID());
      for (const more of [{}, { key }, { key, headers: { Accept: 'text/html' } }]) {
        expectSafe(await api.request(method, to, more));
      }
    },
  );

  it.each([
    ['GET', '/no/such/path'],
    ['PATCH', '/config'],
    ['OPTIONS', '/v1/track'],
    ['OPTIONS', '/contacts'],
    ['HEAD', '/docs/reference'],
    ['GET', '/docs/reference/contacts'],
    ['GET', '/docs/search.json'],
    ['GET', '/docs/assets/docs.js'],
    ['GET', '/docs/assets/none.js'],
    ['GET', '/unsubscribe/%zz'],
  ])('is there on %s %s', async (method, at) => expectSafe(await api.request(method, at)));
});

it('answers an uploaded image with a policy that lets it do nothing', async () => {
  const png = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 0, 0, 0, 0]);
  const file = await formWith(png, { field: 'image', filename: 'a.png', type: 'image/png' });
  const { body } = await api.request('POST', '/uploads/image', { key, ...file });
  const shown = await api.request('GET', new URL(body.url as string).pathname);
  expect([shown.status, shown.headers.get('content-type')]).toEqual([200, 'image/png']);
  expect(policyOf(shown)).toBe(nothing);
  expectSafe(shown);
});

it('lets no script of others run in the documentation', async () => {
  const policy = policyOf(await api.request('GET', '/docs/reference'))!;
  expect(policy).toContain("script-src 'self';");
  expect(policy).toContain("connect-src 'self';");
});
