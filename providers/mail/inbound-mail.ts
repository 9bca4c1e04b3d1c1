import PostalMime from 'postal-mime';
import sanitizeHtml from 'sanitize-html';
import { cutHtml, escapeHtml } from '../../domain/template/html.ts';

/**
 * Returns the body of a received mail as sanitized HTML: without scripts, styles, forms or frames,
 * and with web, mail and telephone links only. null: the mail has no body, or its nesting or
 * headers are too large to read. A very long body, or one with very many tags, is cut, because
 * anyone may send it.
 * @param raw the MIME message as it arrived.
 */
export async function readMailBody(raw: Buffer): Promise<string | null> {
  const { html, text } = await PostalMime.parse(raw).catch(() => ({ html: null, text: null }));
  if (html) return sanitizeHtml(cutHtml(html), safe);
  if (!text) return null;
  return `<p>${escapeHtml(text.trimEnd()).replaceAll(/\r?\n/g, '<br>\n')}</p>`;
}

const safe: sanitizeHtml.IOptions = {
  allowedTags: [...sanitizeHtml.defaults.allowedTags, 'img'],
  allowedAttributes: {
    a: ['href', 'title'],
    img: ['src', 'alt', 'title', 'width', 'height'],
    td: ['colspan', 'rowspan'],
    th: ['colspan', 'rowspan', 'scope'],
  },
  allowedSchemes: ['http', 'https', 'mailto', 'tel'],
  allowProtocolRelative: false,
};
