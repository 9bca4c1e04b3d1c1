import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { type Content, Html, html } from '../html/html.ts';
import type { ListedEndpoint } from '../http/endpoint.ts';
import { createSearch, type Entry, type Hit } from './browser/search.js';
import { layout, type NavGroup } from './layout.ts';
import { type DocsPage, groups, readPages } from './library.ts';
import { type Described, openApiJson } from './document.ts';
import { type OpenApi, referenceEntries, type ReferencePage, referencePages } from './reference.ts';

/** The documentation, ready to be served. */
export interface Site {
  home: string;
  /** Whole pages by path: `/docs/guides/quick-start`, `/docs/reference/contacts`. */
  pages: ReadonlyMap<string, Compressed>;
  /** The search index, as JSON. */
  index: Compressed;
  search(query: string): Hit[];
  /** Returns a page with the results of a search, for browsers without scripts. */
  resultsPage(query: string): string;
}

/** A text and its compressed form, so that it is not compressed for each request. */
export interface Compressed {
  text: string;
  gzip: Buffer;
}

async function compressed(text: string): Promise<Compressed> {
  return { text, gzip: await promisify(gzip)(text) };
}

const sites = new WeakMap<Described, Promise<Site>>();

/**
 * Returns the documentation of a server, which is built once per process. After a failure, the next
 * call builds it again.
 */
export function siteOf(endpoints: readonly ListedEndpoint[], config: Described): Promise<Site> {
  const known = sites.get(config);
  if (known) return known;
  const openApi = JSON.parse(openApiJson(endpoints, config)) as OpenApi;
  const made = makeSite(openApi).catch((error: unknown) => {
    sites.delete(config);
    throw error;
  });
  sites.set(config, made);
  return made;
}

async function makeSite(openApi: OpenApi): Promise<Site> {
  const docs = await readPages();
  const reference = await referencePages(openApi);
  const docsNav = groups.map(([name, slugs]) => ({
    name,
    links: slugs.flatMap((slug) => docs.get(slug) ?? []).map(linkTo),
  }));
  const referenceNav = [{ name: 'API reference', links: reference.map(linkTo) }];
  const entries = [...referenceEntries(openApi), ...[...docs.values()].flatMap(entriesOf)];
  const search = createSearch(entries);
  const shown = (nav: readonly NavGroup[]) => async (page: ReferencePage) => {
    const [path, content] = [pathOf(page), new Html(page.html)];
    return [path, await compressed(layout({ title: page.title, path, content, nav }))] as const;
  };
  const home = { title: 'Documentation', path: '/docs', content: homeContent(docs), nav: docsNav };
  return {
    home: layout(home),
    pages: new Map(
      await Promise.all([
        ...[...docs.values()].map(shown(docsNav)),
        ...reference.map(shown(referenceNav)),
      ]),
    ),
    index: await compressed(JSON.stringify(entries)),
    search,
    resultsPage: (query) =>
      layout({
        title: query,
        path: '',
        content: resultsContent(query, search(query)),
        nav: docsNav,
        query,
      }),
  };
}

const pathOf = ({ slug }: { slug: string }) => `/docs/${slug}`;
const linkTo = (page: { slug: string; title: string }) => ({
  path: pathOf(page),
  title: page.title,
});

function entriesOf(page: DocsPage): Entry[] {
  const path = pathOf(page);
  const [intro, ...sections] = page.sections;
  const rows = page.rows.filter(() => page.slug === 'configuration');
  return [
    { kind: 'Page', title: page.title, context: '', text: intro?.text ?? '', url: path },
    ...sections.map(({ id, heading, text }) => ({
      kind: 'Section' as const,
      title: heading,
      context: page.title,
      text,
      url: `${path}#${id}`,
    })),
    ...rows.map(({ id, name, text }) => ({
      kind: 'Setting' as const,
      title: name,
      context: page.title,
      text,
      url: `${path}#${id}`,
    })),
  ];
}

function homeContent(docs: ReadonlyMap<string, DocsPage>): Content {
  const listed = groups.map(
    ([name, slugs]) =>
      html`<h2>${name}</h2>
        <dl>
          ${slugs
            .flatMap((slug) => docs.get(slug) ?? [])
            .map(
              (page) =>
                html`<dt><a href="${pathOf(page)}">${page.title}</a></dt>
                  <dd>${page.about}</dd>`,
            )}
        </dl>`,
  );
  return html`<h1>Everpost</h1>
    <p>
      Contacts, mail, campaigns and journeys behind one HTTP API, where every promise is a durable
      workflow. New here? Begin with the <a href="/docs/guides/quick-start">quick start</a>. Every
      endpoint is in the <a href="/docs/reference">reference</a>, also as
      <a href="/openapi.json">OpenAPI</a>.
    </p>
    ${listed}`;
}

function resultsContent(query: string, hits: readonly Hit[]): Content {
  return html`<h1>“${query}”</h1>
    ${hits.length === 0 ? html`<p>Nothing has all these words.</p>` : null}
    <dl>
      ${hits.map(
        ({ kind, title, context, excerpt, url }) =>
          html`<dt><a href="${url}">${title}</a> <span class="soft">${kind}</span></dt>
            <dd>${context}</dd>
            <dd>${excerpt}</dd>`,
      )}
    </dl>`;
}
