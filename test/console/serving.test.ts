import { describe, expect, it } from 'vitest';
import { useApi } from '../support/api.ts';
import { consolePath } from '../support/console/open.ts';

/** How the API serves the console: one page for all addresses, and the files that it loads. */

const api = await useApi();

async function get(path: string, headers: Record<string, string> = {}) {
  const answer = await fetch(`${api.url}${path}`, { headers });
  return { status: answer.status, headers: answer.headers, text: await answer.text() };
}

const withoutNonce = (text: string) => text.replaceAll(/nonce="[^"]+"/g, '');

describe('the page of the console', () => {
  it('is the same for all addresses, but for its nonce', async () => {
    const first = await get(consolePath);
    const deep = await get(`${consolePath}/x/y?z=1`);
    expect([first.status, deep.status]).toEqual([200, 200]);
    expect(withoutNonce(first.text)).toBe(withoutNonce(deep.text));
    expect(first.text).not.toBe(deep.text);
    expect(first.text).toContain('needs JavaScript');
    expect(first.headers.get('cache-control')).toBe('no-cache');
  });

  it('loads only from this server, and runs no script inside the page', async () => {
    const { headers, text } = await get(consolePath);
    const policy = headers.get('content-security-policy')!;
    const rules = Object.fromEntries(
      policy.split('; ').map((rule): [string, string] => {
        const [name, ...sources] = rule.split(' ');
        return [name!, sources.join(' ')];
      }),
    );
    expect(rules).toMatchObject({
      'default-src': "'none'",
      'script-src': "'self'",
      'connect-src': "'self'",
      'font-src': "'self'",
      'img-src': "'self' data: blob:",
      'base-uri': "'none'",
      'form-action': "'none'",
      'frame-ancestors': "'none'",
    });
    const nonce = /^'self' 'nonce-([\w+/=]{22,})'$/.exec(rules['style-src']!)?.[1];
    expect(text).toContain(`nonce="${nonce}"`);
    expect(policy).not.toMatch(/unsafe|\*|https?:/);
    expect(text).not.toMatch(/<script(?![^>]* src=)/);
    expect(headers.get('x-content-type-options')).toBe('nosniff');
  });

  it('counts for no rate limit', async () => {
    const limited = await useApi({ RATE_LIMIT_ENABLED: 'true' });
    const { headers } = await fetch(`${limited.url}${consolePath}`);
    expect(headers.get('ratelimit-limit')).toBeNull();
  });

  it('is nowhere if the console is switched off', async () => {
    const without = await useApi({ CONSOLE: 'false' });
    for (const path of ['', '/x/y', '/assets/nope.js', '/mail-frame']) {
      const { status, body } = await without.request('GET', `${consolePath}${path}`);
      expect([path, status, body.error.code]).toEqual([path, 404, 'ROUTE_NOT_FOUND']);
    }
  });
});

describe('a file of the console', () => {
  const script = async () => /src="([^"]+\.js)"/.exec((await get(consolePath)).text)![1]!;

  it('never changes under its name, and is compressed', async () => {
    const path = await script();
    expect(path).toMatch(new RegExp(`^${consolePath}/assets/[\\w-]+-[\\w-]{8}\\.js$`));
    for (const encoding of ['br', 'gzip', 'identity']) {
      const { status, headers } = await get(path, { 'accept-encoding': encoding });
      expect(status).toBe(200);
      expect(headers.get('cache-control')).toBe('public, max-age=31536000, immutable');
      expect(headers.get('content-encoding')).toBe(encoding === 'identity' ? null : encoding);
      expect(headers.get('content-type')).toBe('text/javascript; charset=utf-8');
    }
  });

  it.each(['nope.js', '..%2Findex.html', 'built-from.txt', ''])(
    'is not found: %s',
    async (name) => {
      const { status, body } = await api.request('GET', `${consolePath}/assets/${name}`);
      expect([status, body.error?.code]).toEqual([404, 'ROUTE_NOT_FOUND']);
    },
  );
});
