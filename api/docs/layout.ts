import { createHash } from 'node:crypto';
import { type Content, html } from '../html/html.ts';
import { theme } from '../html/theme.ts';

const style = `${theme}
:root[data-theme=light] { color-scheme: light; } :root[data-theme=dark] { color-scheme: dark; }
body { background: var(--card); font-size: 1rem; line-height: 1.6; }
header { border-bottom: 1px solid var(--edge); background: var(--page); position: sticky; top: 0; z-index: 2; }
header > div { max-width: 76rem; margin: 0 auto; padding: .625rem 1.25rem; display: flex; flex-wrap: wrap; gap: .5rem 1.25rem;
  align-items: center; }
header .brand { font-weight: 700; color: var(--text); letter-spacing: -.01em; }
header a[aria-current] { color: var(--text); font-weight: 600; }
header form { margin-left: auto; position: relative; }
header input[type=search] { width: 18rem; max-width: 100%; }
header label, #theme { cursor: pointer; }
#theme, .copy { background: none; border: 1px solid var(--edge); border-radius: .375rem; padding: .25rem .625rem; font-size: .8125rem; }
#theme:hover, .copy:hover { background: var(--hover); }
#found { position: absolute; right: 0; top: calc(100% + .375rem); width: min(34rem, calc(100vw - 2.5rem)); max-height: 70vh;
  overflow-y: auto; background: var(--card); border: 1px solid var(--edge); border-radius: .5rem; padding: .375rem;
  box-shadow: 0 .5rem 2rem rgb(0 0 0 / .2); }
#found a { display: block; padding: .375rem .625rem; border-radius: .375rem; color: var(--text); font-size: .875rem; }
#found a:is(:hover, :focus) { background: var(--hover); text-decoration: none; }
#found .title { font-weight: 600; } #found .kind { float: right; color: var(--soft); font-size: .75rem; }
#found :is(.context, .excerpt) { display: block; color: var(--soft); overflow: hidden; text-overflow: ellipsis; white-space: nowrap; }
.page { max-width: 76rem; margin: 0 auto; padding: 1.5rem 1.25rem 5rem; display: grid;
  grid-template-columns: 14rem minmax(0, 1fr); gap: 3rem; align-items: start; }
#menu { position: absolute; opacity: 0; } header label { display: none; }
nav.pages { position: sticky; top: 4.5rem; max-height: calc(100vh - 5.5rem); overflow-y: auto; padding: 0 .625rem; }
nav.pages ul { list-style: none; margin: 0 0 1.25rem; padding: 0; font-size: .9375rem; }
nav.pages h2 { font-size: .8125rem; color: var(--soft); margin: 0 0 .25rem; font-weight: 600; }
nav.pages a { display: block; padding: .1875rem .625rem; margin: 0 -.625rem; border-radius: .375rem; color: var(--text); }
nav.pages a:hover { background: var(--hover); text-decoration: none; }
nav.pages a[aria-current] { background: var(--rest); font-weight: 600; }
main { max-width: 48rem; overflow-wrap: break-word; }
h1 { font-size: 1.875rem; line-height: 1.2; letter-spacing: -.02em; margin: 0 0 1rem; }
main h2 { font-size: 1.3125rem; letter-spacing: -.01em; margin: 2.25rem 0 .75rem; line-height: 1.3; }
main h3 { font-size: 1.0625rem; margin: 1.75rem 0 .5rem; }
main [id] { scroll-margin-top: 4.5rem; } tr:target { background: var(--hover); }
p, main ul, main ol { margin: 0 0 1rem; }
main li { margin: .25rem 0; } li > p { margin: 0; }
.code { position: relative; margin: 0 0 1rem; }
pre { background: var(--page); border: 1px solid var(--edge); border-radius: .5rem; padding: .75rem 1rem; overflow-x: auto;
  line-height: 1.5; margin: 0; }
.copy { position: absolute; right: .375rem; top: .375rem; background: var(--page); opacity: 0; cursor: pointer; }
.code:hover .copy, .copy:focus { opacity: 1; } @media (hover: none) { .copy { opacity: 1; } }
:not(pre) > code { background: var(--rest); padding: .0625rem .3125rem; border-radius: .25rem; font-size: .875em; }
.tabs { display: flex; flex-wrap: wrap; margin: 0 0 1rem; }
.tabs > input { position: absolute; opacity: 0; } .tabs > .code { order: 1; width: 100%; margin: 0; }
.tabs > label { padding: .25rem .75rem; font-size: .875rem; color: var(--soft); cursor: pointer; border-bottom: 2px solid transparent; }
.tabs > :checked + label { color: var(--text); font-weight: 600; border-color: var(--accent); }
.tabs > input:focus-visible + label { outline: 2px solid var(--accent); }
.tabs > input:not(:checked) + label + .code { display: none; }
.hljs-comment, .hljs-meta { color: var(--soft); font-style: italic; }
.hljs-string, .hljs-regexp, .hljs-subst { color: light-dark(#0a6b3d, #7fd8a4); }
.hljs-attr, .hljs-property, .hljs-variable, .hljs-params { color: light-dark(#1261c9, #8cc1ff); }
.hljs-keyword, .hljs-built_in, .hljs-literal, .hljs-number { color: light-dark(#8a3ea8, #d9a3f0); }
.hljs-title, .hljs-type { color: light-dark(#96500a, #f0bd7a); }
img { max-width: 100%; height: auto; border: 1px solid var(--edge); border-radius: .5rem; }
figure { margin: 0 0 1rem; overflow-x: auto; } figcaption { color: var(--soft); font-size: .875rem; }
.diagram svg { display: block; max-width: max(100%, 44rem); height: auto; --bg: var(--card); --fg: var(--text); --_text: var(--text);
  --_text-sec: var(--soft); --_text-muted: var(--soft); --_text-faint: var(--edge); --_line: var(--soft); --_arrow: var(--soft);
  --_node-fill: var(--page); --_node-stroke: var(--edge); --_group-fill: var(--card); --_group-hdr: var(--rest);
  --_inner-stroke: var(--edge); --_key-badge: var(--rest); }
.diagram.large svg { max-width: none; }
.wide { overflow-x: auto; margin: 0 0 1rem; }
table { border-collapse: collapse; font-size: .9375rem; }
th, td { text-align: left; vertical-align: top; padding: .375rem .75rem .375rem 0; border-top: 1px solid var(--edge); } td p { margin: 0; }
th { border-top: 0; font-weight: 600; font-size: .875rem; color: var(--soft); }
.anchor { opacity: 0; font-weight: 400; } :is(h2, h3):hover .anchor, .anchor:focus { opacity: 1; }
dl { margin: 0; } dt { font-weight: 600; margin-top: 1rem; } dd { margin: 0; color: var(--soft); }
.around { display: flex; flex-wrap: wrap; justify-content: space-between; gap: 1rem; margin-top: 3rem; padding-top: 1rem;
  border-top: 1px solid var(--edge); }
.endpoint { border-top: 1px solid var(--edge); margin-top: 2.5rem; } .endpoint > h2 { margin-top: 1.5rem; }
.method { font: 600 .75rem ui-monospace, monospace; padding: .125rem .375rem; border-radius: .25rem; background: var(--rest); }
.fields, .endpoints { list-style: none; padding: 0; } .fields .fields { padding-left: 1rem; border-left: 2px solid var(--edge); }
main .fields > li { padding: .375rem 0; margin: 0; border-top: 1px solid var(--edge); }
.required { font-size: .75rem; color: var(--accent); } summary { cursor: pointer; font-size: .9375rem; }
@media (max-width: 56rem) {
  .page { grid-template-columns: minmax(0, 1fr); gap: 1rem; }
  header label { display: block; border: 1px solid var(--edge); border-radius: .375rem; padding: .25rem .625rem; font-size: .8125rem; }
  #menu:focus-visible + label { outline: 2px solid var(--accent); }
  header > div { gap: .5rem .875rem; } header form { flex: 1 0 100%; margin: 0; order: 1; } header input[type=search] { width: 100%; } #found { left: 0; }
  header { position: static; } nav.pages { position: static; max-height: none; display: none; }
  body:has(#menu:checked) nav.pages { display: block; } main [id] { scroll-margin-top: 1rem; }
}
`;

const policy = [
  "default-src 'none'",
  "script-src 'self'",
  "connect-src 'self'",
  `style-src 'sha256-${createHash('sha256').update(style).digest('base64')}'`,
  "img-src 'self'",
  "form-action 'self'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
].join('; ');

export const docsHeaders = {
  'Content-Security-Policy': policy,
  'Cache-Control': 'public, max-age=60',
};

export interface PageLink {
  path: string;
  title: string;
}

/** Pages under one heading of the navigation. */
export interface NavGroup {
  name: string;
  links: readonly PageLink[];
}

/** Renders a page with its navigation. `path`: the path of the page; '' for search results. */
export function layout({
  title,
  path,
  content,
  nav,
  query = '',
}: {
  title: string;
  path: string;
  content: Content;
  nav: readonly NavGroup[];
  query?: string;
}): string {
  const current = (isCurrent: boolean) => (isCurrent ? html` aria-current="page"` : null);
  const isReference = path.startsWith('/docs/reference');
  const groups = nav.map(
    ({ name, links }) =>
      html`<h2>${name}</h2>
        <ul>
          ${links.map(
            (link) =>
              html`<li>
                <a href="${link.path}" ${current(link.path === path)}>${link.title}</a>
              </li>`,
          )}
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
<script src="/docs/assets/theme.js"></script>
<script type="module" src="/docs/assets/docs.js"></script>
</head>
${
  html`<body>
    <a class="skip" href="#main">Skip to the content</a>
    <header>
      <div>
        <a class="brand" href="/docs">Everpost</a>
        <a href="/docs" ${current(!isReference)}>Docs</a>
        <a href="/docs/reference" ${current(isReference)}>API reference</a>
        <input type="checkbox" id="menu" /><label for="menu">Menu</label>
        <form role="search" action="/docs">
          <input
            name="q"
            type="search"
            value="${query}"
            aria-label="Search the documentation"
            placeholder="Search"
            maxlength="200"
            autocomplete="off"
          />
          <div id="found" hidden></div>
        </form>
        <button id="theme" aria-label="Light or dark" title="Light or dark" hidden>◐</button>
      </div>
    </header>
    <div class="page">
      <nav class="pages" aria-label="Documentation">${groups}</nav>
      <main id="main" tabindex="-1">${content} ${aroundOf(path, nav)}</main>
    </div>
  </body>`.text
}
</html>
`;
}

/** Returns links to the previous and the next page. */
function aroundOf(path: string, nav: readonly NavGroup[]): Content {
  const links = nav.flatMap((group) => group.links);
  const at = links.findIndex((link) => link.path === path);
  if (at < 0) return null;
  const [before, after] = [links[at - 1], links[at + 1]];
  return html`<nav class="around" aria-label="Pages before and after">
    <span>${before ? html`<a rel="prev" href="${before.path}">← ${before.title}</a>` : null}</span>
    <span>${after ? html`<a rel="next" href="${after.path}">${after.title} →</a>` : null}</span>
  </nav>`;
}
