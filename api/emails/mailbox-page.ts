import { type Email, decodeWords } from 'postal-mime';
import { escapeHtml } from '../../domain/template/html.ts';

interface ListedMail {
  id: string;
  from: string;
  to: string;
  subject: string;
  receivedAt: string;
}

/**
 * Content-Security-Policy of the page: it runs no scripts, loads only images, and no other page may
 * frame it. A frame with `srcdoc` inherits the policy, so the policy also applies to the HTML of
 * the mails.
 */
export const pagePolicy = [
  "default-src 'none'",
  "style-src 'unsafe-inline'",
  'img-src * data:',
  "form-action 'self'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
].join('; ');

/** Maximum number of shown characters of the raw mail, because attachments may have megabytes. */
const rawCharsMax = 200_000;

/** Renders the mailbox: the list and the selected mail. `to` filters by recipient. */
export function mailboxPage({
  mails,
  chosen,
  to,
}: {
  mails: readonly ListedMail[];
  chosen: (ListedMail & { email: Email; raw: string }) | null;
  to: string;
}): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escapeHtml(chosen ? `${chosen.subject || '(no subject)'} · ` : '')}Mailbox · Everpost</title>
<style>${style}</style>
</head>
<body>
<a class="skip" href="#mail">Skip to the mail</a>
<header>
<h1>Local mailbox</h1>
<form role="search" action="/local/mailbox">
<label for="to">Recipient</label>
<input id="to" name="to" type="search" value="${escapeHtml(to)}" autocomplete="off">
<button>Search</button>
<a href="${listUrl(to)}">Refresh</a>
</form>
</header>
<nav aria-label="Mails">${list(mails, chosen?.id ?? null, to)}</nav>
<main id="mail" tabindex="-1">${chosen ? mail(chosen) : '<p>No mail is chosen.</p>'}</main>
</body>
</html>
`;
}

function list(mails: readonly ListedMail[], chosenId: string | null, to: string): string {
  if (mails.length === 0) {
    return to === ''
      ? '<p>No mail yet. Mail sent by this server appears here.</p>'
      : `<p>No mail to ${escapeHtml(to)}.</p>`;
  }
  const items = mails.map(
    ({ id, to: recipient, subject, receivedAt }) => `
<li><a href="${listUrl(to, id)}"${id === chosenId ? ' aria-current="true"' : ''}>
<strong>${escapeHtml(subject || '(no subject)')}</strong>
<span>${escapeHtml(recipient)}</span>
${moment(receivedAt)}
</a></li>`,
  );
  return `<ul>${items.join('')}\n</ul>`;
}

function listUrl(to: string, mailId?: string): string {
  const query = new URLSearchParams({ ...(to ? { to } : {}), ...(mailId ? { mail: mailId } : {}) });
  return escapeHtml(`/local/mailbox${query.size > 0 ? `?${query.toString()}` : ''}`);
}

function mail(chosen: ListedMail & { email: Email; raw: string }): string {
  const { email, raw } = chosen;
  const headers = email.headers.map(
    ({ originalKey, value }) =>
      `<tr><th scope="row">${escapeHtml(originalKey)}</th><td>${escapeHtml(decodeWords(value))}</td></tr>`,
  );
  const isCut = raw.length > rawCharsMax;
  return `
<h2>${escapeHtml(chosen.subject || '(no subject)')}</h2>
<dl>
<dt>From</dt><dd>${escapeHtml(chosen.from)}</dd>
<dt>To</dt><dd>${escapeHtml(chosen.to)}</dd>
<dt>Received</dt><dd>${moment(chosen.receivedAt)}</dd>
${attachments(email)}
</dl>
${htmlFrame(email)}
<details${email.html === undefined ? ' open' : ''}><summary>Text</summary>
<pre>${escapeHtml(email.text ?? 'This mail has no text part.')}</pre></details>
<details><summary>Headers</summary>
<table><tbody>${headers.join('\n')}</tbody></table></details>
<details><summary>Raw</summary>
<pre>${escapeHtml(isCut ? raw.slice(0, rawCharsMax) : raw)}</pre>
${isCut ? '<p>Only the beginning is shown.</p>' : ''}</details>
<p><a href="/local/mailbox/${chosen.id}">This mail as JSON</a></p>`;
}

function htmlFrame(email: Email): string {
  if (email.html === undefined) return '';
  // The HTML refers to embedded images by content id.
  const html = email.html.replaceAll(/\bcid:([^"'\s)>]+)/gi, (reference, id: string) => {
    const picture = email.attachments.find(({ contentId }) => contentId === `<${id}>`);
    return picture?.mimeType.startsWith('image/')
      ? `data:${picture.mimeType};base64,${picture.content as string}`
      : reference;
  });
  return `<iframe title="HTML of the mail" sandbox="" referrerpolicy="no-referrer" srcdoc="${escapeHtml(html)}"></iframe>`;
}

function attachments(email: Email): string {
  if (email.attachments.length === 0) return '';
  const names = email.attachments.map(({ filename, mimeType }) => filename ?? mimeType);
  return `<dt>Attachments</dt><dd>${escapeHtml(names.join(', '))}</dd>`;
}

function moment(at: string): string {
  return `<time datetime="${at}">${at.slice(0, 10)} ${at.slice(11, 19)} UTC</time>`;
}

const style = `
:root { color-scheme: light dark; --line: #8886; --chosen: #3b82f633; }
* { box-sizing: border-box; }
body { margin: 0; display: grid; grid-template: auto 1fr / minmax(16rem, 24rem) 1fr;
  min-height: 100vh; font: 16px/1.5 system-ui, sans-serif; }
header { grid-column: 1 / -1; display: flex; flex-wrap: wrap; gap: .5rem 2rem; align-items: center;
  padding: .75rem 1rem; border-bottom: 1px solid var(--line); }
h1 { font-size: 1.25rem; margin: 0; }
h2 { font-size: 1.25rem; margin: 0 0 .5rem; overflow-wrap: anywhere; }
form { display: flex; flex-wrap: wrap; gap: .5rem; align-items: center; }
input, button { font: inherit; padding: .25rem .5rem; }
nav { border-right: 1px solid var(--line); }
nav ul { list-style: none; margin: 0; padding: 0; }
nav li a { display: block; padding: .5rem 1rem; color: inherit; text-decoration: none;
  border-bottom: 1px solid var(--line); overflow-wrap: anywhere; }
nav li a:hover, nav li a[aria-current] { background: var(--chosen); }
nav span, nav time { display: block; font-size: .875rem; }
nav p { padding: 0 1rem; }
main { padding: 1rem; min-width: 0; }
:focus-visible { outline: 3px solid #3b82f6; outline-offset: -3px; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: 0 1rem; margin: 0 0 1rem; }
dd { margin: 0; overflow-wrap: anywhere; }
iframe { width: 100%; height: 60vh; border: 1px solid var(--line); background: #fff; }
details { margin: .5rem 0; }
pre { white-space: pre-wrap; overflow-wrap: anywhere; }
th { text-align: left; vertical-align: top; padding-right: 1rem; white-space: nowrap; }
td { overflow-wrap: anywhere; }
.skip { position: absolute; left: -999rem; }
.skip:focus { left: 1rem; top: 1rem; background: Canvas; padding: .5rem; z-index: 1; }
@media (max-width: 45rem) { body { display: block; } nav { border-right: 0; } }
`;
