import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { extname, join } from 'node:path';
import type { Middleware } from 'koa';
import { type Content, Html, html } from '../html/html.ts';
import { theme } from '../html/theme.ts';
import { type DocsPage, docsFolder, docsPages, groups, searchDocs } from './library.ts';

const style = `${theme}
body { background: var(--card); font-size: 1rem; line-height: 1.6; }
header { border-bottom: 1px solid var(--edge); background: var(--page); }
header > div { max-width: 72rem; margin: 0 auto; padding: .625rem 1.25rem; display: flex; flex-wrap: wrap; gap: .5rem 1.5rem;
  align-items: center; }
header .brand { font-weight: 700; color: var(--text); letter-spacing: -.01em; }
header form { margin-left: auto; }
.page { max-width: 72rem; margin: 0 auto; padding: 1.5rem 1.25rem 5rem; display: grid;
  grid-template-columns: 14rem minmax(0, 1fr); gap: 3rem; align-items: start; }
nav ul { list-style: none; margin: 0 0 1.25rem; padding: 0; font-size: .9375rem; }
nav h2 { font-size: .8125rem; color: var(--soft); margin: 0 0 .25rem; font-weight: 600; }
nav a { display: block; padding: .1875rem .625rem; margin: 0 -.625rem; border-radius: .375rem; color: var(--text); }
nav a:hover { background: var(--hover); text-decoration: none; }
nav a[aria-current] { background: var(--rest); font-weight: 600; }
main { max-width: 46rem; overflow-wrap: break-word; }
h1 { font-size: 1.875rem; line-height: 1.2; letter-spacing: -.02em; margin: 0 0 1rem; }
main h2 { font-size: 1.3125rem; letter-spacing: -.01em; margin: 2.25rem 0 .75rem; line-height: 1.3; }
main h3 { font-size: 1.0625rem; margin: 1.75rem 0 .5rem; }
p, main ul, main ol { margin: 0 0 1rem; }
main li { margin: .25rem 0; }
pre { background: var(--page); border: 1px solid var(--edge); border-radius: .5rem; padding: .75rem 1rem; overflow-x: auto;
  line-height: 1.5; }
:not(pre) > code { background: var(--rest); padding: .0625rem .3125rem; border-radius: .25rem; font-size: .875em; }
img { max-width: 100%; height: auto; border: 1px solid var(--edge); border-radius: .5rem; }
.wide { overflow-x: auto; margin: 0 0 1rem; }
table { border-collapse: collapse; font-size: .9375rem; }
th, td { text-align: left; vertical-align: top; padding: .375rem .75rem .375rem 0; border-top: 1px solid var(--edge); }
th { border-top: 0; font-weight: 600; font-size: .875rem; color: var(--soft); }
.anchor { opacity: 0; font-weight: 400; } :is(h2, h3):hover .anchor, .anchor:focus { opacity: 1; }
dl { margin: 0; } dt { font-weight: 600; margin-top: 1rem; } dd { margin: 0; color: var(--soft); }
@media (max-width: 48rem) { .page { grid-template-columns: minmax(0, 1fr); gap: 1rem; } nav { order: 1; } header form { margin: 0; } }
`;

const policy = [
  "default-src 'none'",
  `style-src 'sha256-${createHash('sha256').update(style).digest('base64')}'`,
  "img-src 'self'",
  "form-action 'self'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
].join('; ');

/** The headers of a page of the documentation. */
export const docsHeaders = {
  'Content-Security-Policy': policy,
  'Cache-Control': 'public, max-age=60',
};

/** The index of the documentation, or the pages that have the words of `query`. */
export async function docsIndex(query: string): Promise<string> {
  const pages = await docsPages();
  if (query.trim() !== '') {
    const hits = await searchDocs(query);
    const found = html`<h1>“${query}”</h1>
      ${hits.length === 0 ? html`<p>No page has all these words.</p>` : null}
      <dl>
        ${hits.map(
          ({ page, excerpt }) =>
            html`<dt>${linkTo(page)}</dt>
              <dd>${excerpt}</dd>`,
        )}
      </dl>`;
    return layout(query, null, found, pages, query);
  }
  const listed = groups.map(
    ([name, slugs]) =>
      html`<h2>${name}</h2>
        <dl>
          ${slugs.flatMap((slug) => {
            const page = pages.get(slug);
            return page
              ? [
                  html`<dt>${linkTo(page)}</dt>
                    <dd>${page.about}</dd>`,
                ]
              : [];
          })}
        </dl>`,
  );
  return layout(
    'Documentation',
    null,
    html`<h1>Everpost</h1>
      <p>
        Contacts, mail, campaigns and journeys behind one HTTP API, where every promise is a durable
        workflow. New here? Begin with the <a href="/docs/guides/quick-start">quick start</a>. Every
        endpoint is in the <a href="/docs/reference">reference</a>, also as
        <a href="/openapi.json">OpenAPI</a>.
      </p>
      ${listed}`,
    pages,
  );
}

const linkTo = ({ slug, title }: DocsPage) => html`<a href="/docs/${slug}">${title}</a>`;

function layout(
  title: string,
  current: string | null,
  content: Content,
  pages: ReadonlyMap<string, DocsPage>,
  query = '',
): string {
  const nav = groups.map(
    ([name, slugs]) =>
      html`<h2>${name}</h2>
        <ul>
          ${slugs.flatMap((slug) => {
            const page = pages.get(slug);
            const mark = slug === current ? html` aria-current="page"` : null;
            return page ? [html`<li><a href="/docs/${slug}" ${mark}>${page.title}</a></li>`] : [];
          })}
        </ul>`,
  );
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<link rel="icon" href="/docs/images/icon.svg">
${html`<title>${title} · Everpost</title>`.text}
<style>${style}</style>
</head>
${
  html`<body>
    <a class="skip" href="#main">Skip to the content</a>
    <header>
      <div>
        <a class="brand" href="/docs">Everpost docs</a> <a href="/docs/reference">API reference</a>
        <form role="search" action="/docs">
          <input
            name="q"
            type="search"
            value="${query}"
            aria-label="Search the documentation"
            placeholder="Search"
            maxlength="200"
          />
        </form>
      </div>
    </header>
    <div class="page">
      <nav aria-label="Documentation">${nav}</nav>
      <main id="main" tabindex="-1">${content}</main>
    </div>
  </body>`.text
}
</html>
`;
}

const imageTypes: Record<string, string> = { '.png': 'image/png', '.svg': 'image/svg+xml' };

/** The pages below `/docs`, and their images. */
export const docsRoutes: Middleware = async (ctx, next) => {
  const path = /^\/docs\/((?:[\w-]+\/)?[\w-]+(?:\.\w+)?)$/.exec(ctx.path)?.[1];
  if (!path || (ctx.method !== 'GET' && ctx.method !== 'HEAD')) return next();
  const image = /^images\/(.+)$/.exec(path)?.[1];
  const type = image && imageTypes[extname(image)];
  if (image && type && (await readdir(join(docsFolder, 'images'))).includes(image)) {
    ctx.set('Cache-Control', 'public, max-age=86400');
    // A picture may have a style of its own, and nothing else.
    ctx.set('Content-Security-Policy', "default-src 'none'; style-src 'unsafe-inline'");
    ctx.type = type;
    ctx.body = createReadStream(join(docsFolder, 'images', image));
    return undefined;
  }
  const pages = await docsPages();
  const page = pages.get(path);
  if (!page) return next();
  ctx.set(docsHeaders);
  ctx.type = 'text/html';
  ctx.body = layout(page.title, page.slug, new Html(page.html), pages);
  return undefined;
};
