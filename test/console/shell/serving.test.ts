import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { describe, expect, it } from 'vitest';
import { useApi } from '../../support/api.ts';
import { consolePath } from '../../support/console/open.ts';

/** How the API serves the console: one page for all addresses, and the files that it loads. */

const api = await useApi();

async function get(path: string, headers: Record<string, string> = {}) {
  const answer = await fetch(`${api.url}${path}`, { headers });
  return { status: answer.status, headers: answer.headers, text: await answer.text() };
}

const withoutNonce = (text: string) => text.replaceAll(/nonce="[^"]+"/g, '');
const scriptIn = (text: string) => /src="([^"]+\.js)"/.exec(text)![1]!;

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

  it('is the same with a session, and has no data', async () => {
    const { cookie, email } = await api.signUp();
    const { id } = await api.createProject(cookie, 'Blue Bottle Books');
    const own = await get(`${consolePath}/${id}`, { cookie });
    expect(withoutNonce(own.text)).toBe(withoutNonce((await get(consolePath)).text));
    for (const text of [email, id, 'Blue Bottle Books']) expect(own.text).not.toContain(text);
    expect(own.headers.get('set-cookie')).toBeNull();
  });

  it('answers HEAD like GET, and is no target of a form', async () => {
    expect((await fetch(`${api.url}${consolePath}`, { method: 'HEAD' })).status).toBe(200);
    const { status, body } = await api.request('POST', `${consolePath}/log-in`, { body: {} });
    expect([status, body.error.code]).toEqual([404, 'ROUTE_NOT_FOUND']);
  });

  it('counts for no rate limit', async () => {
    const limited = await useApi({ RATE_LIMIT_ENABLED: 'true' });
    const page = await fetch(`${limited.url}${consolePath}`);
    const asset = await fetch(limited.url + scriptIn(await page.text()));
    for (const { status, headers } of [page, asset]) {
      expect([status, headers.get('ratelimit-limit')]).toEqual([200, null]);
    }
  });

  it('is nowhere, like its files, if the console is switched off', async () => {
    const without = await useApi({ CONSOLE: 'false' });
    const asset = scriptIn((await get(consolePath)).text).slice(consolePath.length);
    for (const path of ['', '/', '/x/y', '/auth/login', asset, '/mail-frame']) {
      const { status, body } = await without.request('GET', `${consolePath}${path}`);
      expect([path, status, body.error.code]).toEqual([path, 404, 'ROUTE_NOT_FOUND']);
    }
  });
});

describe('a file of the console', () => {
  const script = async () => scriptIn((await get(consolePath)).text);

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

describe('a request of the console', () => {
  /** Sends a request as a browser does, from a page of `origin`, to the host name `host`. */
  async function createContact(headers: { origin: string; host: string; cookie: string }) {
    const { cookie } = headers;
    const [project] = (await api.request('GET', '/users/@me/projects', { cookie })).body;
    // Not fetch, which sets both headers itself.
    const sent = request(`${api.url}/contacts`, {
      method: 'POST',
      headers: { ...headers, 'x-project-id': project.id, 'content-type': 'application/json' },
    });
    sent.end('{"email":"ada@shop.example"}');
    const [answer] = (await once(sent, 'response')) as [IncomingMessage];
    answer.resume();
    return answer.statusCode;
  }

  it('is taken by any host name of the server, and from no other site', async () => {
    const { cookie } = await api.signUp();
    await api.createProject(cookie);
    const host = `mail.example:${new URL(api.url).port}`;
    for (const origin of [
      'http://evil.example',
      `https://${host}`,
      'http://mail.example',
      'null',
    ]) {
      expect([origin, await createContact({ origin, host, cookie })]).toEqual([origin, 403]);
    }
    expect(await createContact({ origin: `http://${host}`, host, cookie })).toBe(201);
  });
});
