import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { filterNames } from '../../../domain/template/liquid.ts';
import { docsFolder, docsPages, groups } from '../../../api/docs/library.ts';
import { useApi } from '../../support/api.ts';

const api = await useApi();
const get = (path: string) => api.request('GET', path);
const pages = await docsPages();

it('has each page of docs/ in its index, and no other', async () => {
  const named = groups.flatMap(([, slugs]) => slugs);
  expect([...pages.keys()].filter((slug) => !named.includes(slug))).toEqual([]);
  const { status, headers, body } = await get('/docs');
  expect([status, headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8']);
  for (const slug of pages.keys()) expect(body).toContain(`<dt><a href="/docs/${slug}">`);
});

it.each([...pages.keys()])('shows %s, whose links and images lead somewhere', async (slug) => {
  const { status, body } = await get(`/docs/${slug}`);
  expect(status).toBe(200);
  expect(body).toContain('<h1 id=');
  const main = body.slice(body.indexOf('<main'));
  const links = [...main.matchAll(/(?:href|src)="(\/[^"#]*)(#[^"]*)?"/g)];
  for (const [, path, hash] of links) {
    const to = await get(path);
    expect([path, to.status]).toEqual([path, 200]);
    if (hash)
      expect([path, hash, to.body.includes(`id="${hash.slice(1)}"`)]).toEqual([path, hash, true]);
  }
  const own = [...main.matchAll(/href="#([^"]*)"/g)].map(([, id]) => id);
  for (const id of own) expect([id, main.includes(`id="${id}"`)]).toEqual([id, true]);
});

it('leaves out what only other readers of Markdown draw', async () => {
  for (const { slug, html, text } of pages.values()) {
    expect([slug, html.includes('mermaid'), /sequenceDiagram|erDiagram/.test(text)]).toEqual([
      slug,
      false,
      false,
    ]);
  }
  expect((await get('/docs?q=erDiagram')).body).toContain('No page has all these words.');
});

it('says in its index what a page is about, not what its commands need', () => {
  for (const { about, text } of pages.values()) {
    expect(about).not.toMatch(/\$[A-Z]|quick start/);
    expect(text).not.toMatch(/\bof of\b/);
  }
});

it('finds the pages that have all the words, the fittest first', async () => {
  const { body } = await get('/docs?q=Night+SHIFT');
  expect(/<dt><a href="([^"]*)">/.exec(body)?.[1]).toBe('/docs/operating/night-shift');
  expect(body).toContain('value="Night SHIFT"');
  // As the page has it, fit to be copied; only at the beginning of a word.
  expect((await get('/docs?q=shiftbyseconds')).body).toContain('shiftBySeconds');
  expect((await get('/docs?q=hiftbyseconds')).body).toContain('No page has all these words.');
  expect((await get('/docs?q=zebra+quagga')).body).toContain('No page has all these words.');
  expect((await get('/docs?q=%3Cscript%3E')).body).not.toContain('<script');
  expect((await get(`/docs?q=${'x'.repeat(201)}`)).status).toBe(422);
});

it('shows what it has found as text, without the signs of Markdown', async () => {
  for (const query of ['PATCH+wait', 'untilField', 'liquid+filters', 'shorthands']) {
    const { body } = await get(`/docs?q=${query}`);
    expect(body).toContain('<dd>');
    const excerpts = [...body.matchAll(/<dd>([\s\S]*?)<\/dd>/g)].map(([, text]) => text);
    for (const excerpt of excerpts) expect(excerpt).not.toMatch(/-{3}|\bsh until\b|\*\*|```/);
  }
  const text = pages.get('guides/journeys-in-ten-minutes')?.text;
  expect(text).not.toMatch(/-{3}| sh (?:until )?/);
});

it('lists the filters that a template has', async () => {
  const page = await readFile(join(docsFolder, 'template-language.md'), 'utf8');
  const list = page.slice(page.indexOf('## Liquid filters'), page.indexOf('Times are in UTC'));
  const named = [...list.matchAll(/`(\w+)`/g)].map(([, name]) => name);
  expect(named.toSorted()).toEqual(filterNames().toSorted());
  expect((await get('/docs?q=liquid+filters')).body).toContain(
    '<a href="/docs/template-language">',
  );
});

it.each([
  '/docs/none',
  '/docs/images/none.png',
  '/docs/../package.json',
  '/docs/images/..%2f..%2fpackage.json',
  '/docs/guides/',
])('has nothing at %s', async (path) => {
  expect((await get(path)).status).toBe(404);
});

it('allows its pages nothing but their own style and images', async () => {
  for (const path of ['/docs', '/docs/operating/night-shift', '/docs/images/find.png']) {
    const policy = (await get(path)).headers.get('content-security-policy');
    expect(policy).toContain("default-src 'none'");
    expect(policy).not.toContain('script-src');
  }
  const reference = (await get('/docs/reference')).headers.get('content-security-policy');
  expect(reference).toContain("script-src 'self'");
});
