import { createHash } from 'node:crypto';
import { type Html, html } from '../html/html.ts';
import { style } from './style.ts';

const styleHash = createHash('sha256').update(style).digest('base64');

/**
 * The Content-Security-Policy of every page: a page loads only its own style and images of this
 * server, and sends forms only to this server.
 */
const policy = [
  "default-src 'none'",
  `style-src 'sha256-${styleHash}'`,
  "img-src 'self'",
  "form-action 'self'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
];

/**
 * Further rules for a page with a script: scripts of this server are allowed, and calls to this
 * server.
 */
const scriptRules = ["script-src 'self'", "connect-src 'self'"];

/**
 * Returns the headers of a page. Pages show personal data, so they are not cached.
 * @param styles a source of styles that replaces the page's own, for a framed mail with styles.
 */
export function pageHeaders({ styles = '', hasScript = false } = {}): Record<string, string> {
  return {
    'Content-Security-Policy': [...policy, ...(hasScript ? scriptRules : [])]
      .map((rule) => (styles !== '' && rule.startsWith('style-src') ? `style-src ${styles}` : rule))
      .join('; '),
    'Cache-Control': 'no-store',
    // Without a referrer, a browser would send `Origin: null` with a form, as it does for another
    // site.
    'Referrer-Policy': 'same-origin',
    'X-Robots-Tag': 'noindex, nofollow',
  };
}

export interface ShownProject {
  id: string;
  name: string;
}

const sections = [
  ['', 'Overview'],
  ['/failures', 'Failures'],
  ['/workflows', 'Workflows'],
  ['/campaigns', 'Campaigns'],
  ['/templates', 'Templates'],
  ['/files', 'Files'],
  ['/domains', 'Domains'],
  ['/providers', 'Providers'],
  ['/routing', 'Routing'],
  ['/ramps', 'Ramps'],
  ['/subscriptions', 'Subscriptions'],
  ['/keys', 'API keys'],
  ['/requests', 'Requests'],
  ['/security-events', 'Security log'],
  ['/settings', 'Settings'],
] as const;

export function pathIn(projectId: string, path: string): string {
  return `/console/${projectId}${path}`;
}

/**
 * Renders a page of a project, with links to all sections and to the user's other projects. `at` is
 * the section of the page.
 */
export function projectLayout({
  project,
  projects,
  at,
  title,
  token,
  content,
}: {
  project: ShownProject;
  projects: readonly ShownProject[];
  at: string;
  title: string;
  token: string;
  content: Html;
}): string {
  const links = sections.map(
    ([path, name]) =>
      html`<a href="${pathIn(project.id, path)}" ${path === at ? html` aria-current="page"` : null}
        >${name}</a
      >`,
  );
  return layout(
    `${title} · ${project.name}`,
    html`<a class="skip" href="#main">Skip to the content</a>
      <header class="top">
        <div>
          <a class="brand" href="${pathIn(project.id, '')}">Everpost</a>
          ${projectChoice(project, projects)}
          <nav class="main" aria-label="Console">${links}</nav>
          <form role="search" action="${pathIn(project.id, '/contacts')}">
            <input
              name="email"
              type="search"
              aria-label="Contact by address"
              placeholder="Contact by address"
              autocomplete="off"
            />
          </form>
          ${userLinks(token)}
        </div>
      </header>
      <main id="main" tabindex="-1">${content}</main>`,
  );
}

/** Renders a page of the user's account. */
export function accountLayout(title: string, content: Html, token: string): string {
  return layout(
    title,
    html`<header class="top">
        <div>
          <a class="brand" href="/console">Everpost</a>

          ${userLinks(token)}
        </div>
      </header>
      <main>${content}</main>`,
  );
}

function userLinks(token: string): Html {
  return html`<div class="user">
    <a class="plain" href="/console/account">Account</a>
    <form method="post" action="/console/log-out">
      <input type="hidden" name="token" value="${token}" /><button class="plain">Log out</button>
    </form>
  </div>`;
}

/** Renders the name of the project, with links to the user's other projects. */
function projectChoice(project: ShownProject, projects: readonly ShownProject[]): Html {
  const others = projects.filter(({ id }) => id !== project.id);
  if (others.length === 0) return html`<span class="soft">${project.name}</span>`;
  return html`<details class="choice">
    <summary>${project.name}</summary>
    <ul>
      ${others.map(({ id, name }) => html`<li><a href="${pathIn(id, '')}">${name}</a></li>`)}
    </ul>
  </details>`;
}

/** Renders a page without navigation. */
export function plainLayout(title: string, content: Html): string {
  return layout(title, html`<main class="narrow">${content}</main>`);
}

function layout(title: string, body: Html): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<link rel="icon" href="/docs/images/icon.svg">
<meta name="robots" content="noindex, nofollow">
${html`<title>${title} · Everpost</title>`.text}
<style>${style}</style>
</head>
<body>
${body.text}
</body>
</html>
`;
}
