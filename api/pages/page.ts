import { createHash } from 'node:crypto';
import { escapeHtml } from '../../domain/template/html.ts';
import { type Answer, answer } from '../http/endpoint.ts';
import { html, type Html } from '../html/html.ts';

export interface PageForm {
  action: string;
  /** The buttons of the form. The Enter key presses the first button. */
  buttons: readonly { label: string; name?: string; value?: string }[];
  boxes?: readonly PageBox[];
  hidden?: readonly { name: string; value: string }[];
}

export interface PageBox {
  name: string;
  value: string;
  label: string;
  description: string | null;
  isTicked: boolean;
}

/** A page for people without a login: one heading, one sentence, and at most one form. */
export interface PageContent {
  language: string;
  title: string;
  text: string | null;
  /** List below the sentence. */
  list?: readonly string[];
  form: PageForm | null;
}

/** Contrast of at least 7:1 in light and dark (WCAG 2.2, 1.4.6), targets of 44 px (2.5.5). */
const style = `
:root { color-scheme: light dark; --text: #1a1a1a; --page: #fff; --button: #1a1a1a; --label: #fff; }
@media (prefers-color-scheme: dark) {
  :root { --text: #f2f2f2; --page: #161616; --button: #f2f2f2; --label: #161616; }
}
body { margin: 0; background: var(--page); color: var(--text); font: 1.125rem/1.6 system-ui, sans-serif; }
main { max-width: 34rem; margin: 12vh auto; padding: 0 1.5rem; }
h1 { font-size: 1.75rem; line-height: 1.25; margin: 0 0 1rem; }
p, ul { margin: 0 0 1.5rem; overflow-wrap: anywhere; }
button { font: inherit; font-weight: 600; min-height: 2.75rem; padding: .5rem 1.5rem; cursor: pointer;
  border: 2px solid var(--button); border-radius: .375rem; background: var(--button); color: var(--label);
  max-width: 100%; overflow-wrap: anywhere; margin: 0 .5rem .75rem 0; }
button + button { background: var(--page); color: var(--text); }
fieldset { border: 0; margin: 0 0 1.5rem; padding: 0; min-width: 0; }
label { display: block; position: relative; min-height: 2.75rem; padding: .5rem 0 .5rem 2.25rem; font-weight: 600;
  cursor: pointer; overflow-wrap: anywhere; }
input { position: absolute; left: 0; top: .75rem; width: 1.25rem; height: 1.25rem; margin: 0;
  accent-color: var(--button); }
fieldset p { margin: 0 0 .75rem 2.25rem; }
:focus-visible { outline: 3px solid #2f6feb; outline-offset: 3px; }
`;

const styleHash = createHash('sha256').update(style).digest('base64');

const headers = {
  // The policy allows only this style and the form: no scripts, no framing, no images.
  'Content-Security-Policy': [
    "default-src 'none'",
    `style-src 'sha256-${styleHash}'`,
    "form-action 'self'",
    "base-uri 'none'",
    "frame-ancestors 'none'",
  ].join('; '),
  // The URL of the page is a secret of one person, so the page must not be indexed or cached.
  'X-Robots-Tag': 'noindex, nofollow',
  'Cache-Control': 'no-store',
};

/** Returns the response with a page. The page works without JavaScript. */
export function showPage(content: PageContent, status = 200): Answer<string> {
  return answer(pageHtml(content), { status, headers, contentType: 'text/html' });
}

function formHtml({ action, buttons, boxes = [], hidden = [] }: PageForm): Html {
  const fields = hidden.map(
    ({ name, value }) => html`<input type="hidden" name="${name}" value="${value}" />`,
  );
  const group =
    boxes.length > 0 &&
    html`<fieldset aria-labelledby="text">
      ${boxes.map((box, index) => boxHtml(box, `about-${index}`))}
    </fieldset>`;
  const pressed = buttons.map(({ label, name, value }) =>
    name === undefined
      ? html`<button>${label}</button>`
      : html`<button name="${name}" value="${value}">${label}</button>`,
  );
  return html`<form method="post" action="${action}">${fields}${group}${pressed}</form> `;
}

function boxHtml({ name, value, label, description, isTicked }: PageBox, about: string): Html {
  const described = description !== null && html` aria-describedby="${about}"`;
  return html` <label
      ><input
        type="checkbox"
        name="${name}"
        value="${value}"
        ${isTicked && html` checked`}${described}
      />${label}</label
    >${description !== null && html` <p id="${about}">${description}</p>`}`;
}

function pageHtml({ language, title, text, list = [], form }: PageContent): string {
  const shownText = text === null ? '' : `<p id="text">${escapeHtml(text)}</p>\n`;
  const items = list.map((item) => html`<li>${item}</li>`);
  const shownList =
    items.length > 0
      ? html`<ul>
          ${items}
        </ul>`.text
      : '';
  const shownForm = form ? formHtml(form).text : '';
  return `<!doctype html>
<html lang="${language}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex, nofollow">
<title>${escapeHtml(title)}</title>
<style>${style}</style>
</head>
<body>
<main>
<h1>${escapeHtml(title)}</h1>
${shownText}${shownList}${shownForm}</main>
</body>
</html>
`;
}
