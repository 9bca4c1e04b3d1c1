import PostalMime from 'postal-mime';
import sanitizeHtml from 'sanitize-html';
import { cutHtml, escapeHtml } from '../../domain/template/html.ts';

/**
 * The body of a received mail as sanitized HTML: no scripts, styles, forms or frames, and only web,
 * mail and telephone links. Null when the mail has no body, or is nested or headed beyond reading. Of a very long
 * body, or one with very many tags, only the beginning: anybody may have sent it.
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
