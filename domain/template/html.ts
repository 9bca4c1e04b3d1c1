const htmlEntities: Record<string, string> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

/** Escapes text for HTML content and quoted attribute values. */
export function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (char) => htmlEntities[char]!);
}

/** Like `escapeHtml`, but keeps existing entities. */
export function escapeHtmlOnce(text: string): string {
  return text.replace(/[<>"']|&(?!(?:[a-z][a-z0-9]*|#\d+|#x[\da-f]+);)/gi, (c) => htmlEntities[c]!);
}

/** Characters of HTML that are parsed. */
const readCharsMax = 500_000;
/** A parser's cost grows with the square of the nesting: 20,000 open tags take 0.1 s. */
const readTagsMax = 20_000;

/** The part of HTML that is safe to parse: all of it, unless it is built to be slow. */
export function cutHtml(html: string): string {
  const end = Math.min(html.length, readCharsMax);
  let at = -1;
  for (let tags = 0; tags < readTagsMax; tags += 1) {
    at = html.indexOf('<', at + 1);
    if (at < 0 || at >= end) return html.slice(0, end);
  }
  return html.slice(0, at);
}
