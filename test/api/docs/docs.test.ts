import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { problems } from '../../../domain/errors.ts';
import { filterNames } from '../../../domain/template/liquid.ts';
import { docsFolder, groups, readPages } from '../../../api/docs/library.ts';
import { siteOf } from '../../../api/docs/site.ts';
import { endpoints } from '../../../api/endpoints.ts';
import { useApi } from '../../support/api.ts';

const api = await useApi();
const get = (path: string) => api.request('GET', path);
const pages = await readPages();
const site = await siteOf(endpoints, { apiUrl: api.url });
const reference = [...site.pages.keys()].filter((path) => path.startsWith('/docs/reference'));

it('has each page of docs/ in its index, and no other', async () => {
  const named = groups.flatMap(([, slugs]) => slugs);
  expect([...pages.keys()].filter((slug) => !named.includes(slug))).toEqual([]);
  const { status, headers, body } = await get('/docs');
  expect([status, headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8']);
  for (const slug of pages.keys()) expect(body).toContain(`<dt><a href="/docs/${slug}">`);
});

it.each([...site.pages.keys()])('shows %s, whose links and images lead somewhere', async (path) => {
  const { status, body } = await get(path);
  expect(status).toBe(200);
  expect(body).toContain('<h1 id=');
  const main = body.slice(body.indexOf('<main'));
  const links = new Set([...main.matchAll(/(?:href|src)="(\/[^"]*)"/g)].map(([, link]) => link));
  for (const link of links) {
    const [to = '', hash] = link.split('#');
    // The reference has thousands of links, so pages that were read already are not requested
    // again.
    const shown = site.pages.get(to)?.text ?? (await get(to)).body;
    const isThere = site.pages.has(to) || (await get(to)).status === 200;
    expect([link, isThere]).toEqual([link, true]);
    if (hash) expect([link, shown.includes(`id="${hash}"`)]).toEqual([link, true]);
  }
  const own = [...main.matchAll(/href="#([^"]*)"/g)].map(([, id]) => id);
  for (const id of own) expect([id, main.includes(`id="${id}"`)]).toEqual([id, true]);
  const ids = [...main.matchAll(/<(?!svg|marker|g\b)[a-z0-9]+ [^>]*?\bid="([^"]*)"/g)];
  expect(ids.length).toBe(new Set(ids.map(([, id]) => id)).size);
});

it('draws the diagrams of a page, and searches nothing of their source', () => {
  const campaigns = pages.get('guides/campaigns')!;
  expect(campaigns.html).toMatch(/<figure class="diagram" tabindex="0"><svg [\s\S]*>SCHEDULED</);
  for (const { slug, html } of pages.values()) {
    expect([slug, / style="|<style/.test(html)]).toEqual([slug, false]);
  }
  expect(site.search('erDiagram')).toEqual([]);
});

it('says in its index what a page is about, not what its commands need', () => {
  for (const { about, sections } of pages.values()) {
    expect(about).not.toMatch(/\$[A-Z]|quick start/);
    for (const { text } of sections) expect(text).not.toMatch(/\bof of\b/);
  }
});

it.each([
  ['POST /v1/send', 'Endpoint', '/docs/reference/public-api#send'],
  ['rotate key', 'Endpoint', '/docs/reference/api-keys#rotateApiKey'],
  ['regenerate keys', 'Endpoint', '/docs/reference/projects#regenerateKeys'],
  ['rotate key', 'Section', '/docs/security#key-rotation'],
  ['invite member', 'Endpoint', '/docs/reference/projects#addMember'],
  ['docker', 'Page', '/docs/installing'],
  ['docker', 'Section', '/docs/installing#with-docker-compose'],
  ['missing_auth', 'Error code', '/docs/reference/errors#MISSING_AUTH'],
  ['DATABASE_URL', 'Setting', '/docs/configuration#DATABASE_URL'],
  ['Night SHIFT', 'Page', '/docs/operating/night-shift'],
])('finds for "%s" a place of the kind %s among the first four', (query, kind, url) => {
  const hits = site.search(query).slice(0, 4);
  expect(hits.map((hit) => [hit.kind, hit.url])).toContainEqual([kind, url]);
});

it('shows every endpoint and every error code in the reference, and finds each by its name', () => {
  for (const { id, method, path } of endpoints) {
    const [first] = site.search(`${method} ${path}`);
    expect(first?.title).toBe(`${method} ${path}`);
    const page = site.pages.get(first!.url.split('#')[0]!)?.text;
    expect([id, page?.includes(`id="${id}"`)]).toEqual([id, true]);
  }
  for (const code of Object.keys(problems)) {
    expect(site.search(code).map(({ url }) => url)).toContain(`/docs/reference/errors#${code}`);
  }
});

it('lists the fields of a body where the endpoint is', () => {
  const page = site.pages.get('/docs/reference/public-api')!.text;
  expect(page).toMatch(/<h3>Body<\/h3>[\s\S]*?<li>\s*<code>subject<\/code>[\s\S]*?<h3>Response/);
});

it('searches also for readers without scripts', async () => {
  const { body } = await get('/docs?q=Night+SHIFT');
  expect(/<dt><a href="([^"]*)">/.exec(body)?.[1]).toBe('/docs/operating/night-shift');
  expect(body).toContain('value="Night SHIFT"');
  // The search shows the name as the page has it, and matches only beginnings of words.
  expect((await get('/docs?q=shiftbyseconds')).body).toContain('shiftBySeconds');
  expect((await get('/docs?q=hiftbyseconds')).body).toContain('Nothing has all these words.');
  expect((await get('/docs?q=zebra+quagga')).body).toContain('Nothing has all these words.');
  expect((await get('/docs?q=%3Cscript%3E')).body).not.toContain('<script>');
  expect((await get(`/docs?q=${'x'.repeat(201)}`)).status).toBe(422);
});

it('shows what it has found as text, without the signs of Markdown', () => {
  for (const query of ['PATCH wait', 'untilField', 'liquid filters', 'helpers', 'cursor']) {
    const hits = site.search(query);
    expect(hits.length).toBeGreaterThan(0);
    for (const { excerpt } of hits) expect(excerpt).not.toMatch(/-{3}|\bsh until\b|\*\*|`/);
  }
});

it('lists the filters that a template has', async () => {
  const page = await readFile(join(docsFolder, 'template-language.md'), 'utf8');
  const list = page.slice(page.indexOf('## Liquid filters'), page.indexOf('Times are in UTC'));
  const named = [...list.matchAll(/`(\w+)`/g)].map(([, name]) => name);
  expect(named.toSorted()).toEqual(filterNames().toSorted());
});

it('leads from each page of the reference to the docs, and to the pages before and after', () => {
  for (const path of reference) {
    expect(site.pages.get(path)?.text).toMatch(/<a href="\/docs" ?>Docs<\/a>/);
  }
  const quickStart = site.pages.get('/docs/guides/quick-start')!.text;
  const next = '/docs/guides/console';
  expect(quickStart).toContain(`<a rel="next" href="${next}">`);
  expect(site.pages.get(next)?.text).toContain('<a rel="prev" href="/docs/guides/quick-start">');
});

it('sends pages compressed to clients that take it, and plain to others', async () => {
  const size = async (encoding: string) => {
    const path = `${api.url}/docs/guides/sending`;
    const answer = await fetch(path, { headers: { 'Accept-Encoding': encoding } });
    expect(await answer.text()).toBe(site.pages.get('/docs/guides/sending')?.text);
    return [answer.headers.get('content-encoding'), answer.headers.get('vary')];
  };
  expect(await size('gzip')).toEqual(['gzip', expect.stringContaining('Accept-Encoding')]);
  expect(await size('identity')).toEqual([null, expect.stringContaining('Accept-Encoding')]);
});

it.each([
  '/docs/none',
  '/docs/reference/none',
  '/docs/assets/none.js',
  '/docs/images/none.png',
  '/docs/images/icon.svg/more',
  '/docs/../package.json',
  '/docs/images/..%2f..%2fpackage.json',
  '/docs/guides/',
])('has nothing at %s', async (path) => {
  expect((await get(path)).status).toBe(404);
});

it('allows its pages nothing but their own style, scripts and images', async () => {
  for (const path of ['/docs', '/docs/operating/night-shift', '/docs/reference']) {
    const policy = (await get(path)).headers.get('content-security-policy');
    expect(policy).toContain(
      "default-src 'none'; script-src 'self'; connect-src 'self'; style-src 'sha256-",
    );
    expect(policy).not.toContain('unsafe');
  }
  const image = (await get('/docs/images/find.png')).headers.get('content-security-policy');
  expect(image).not.toContain('script-src');
});
