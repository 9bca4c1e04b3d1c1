const htmlEntities: Record<string, string> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

/** Makes text safe in HTML content and in quoted attribute values. */
export function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (char) => htmlEntities[char]!);
}

/** Like `escapeHtml`, but leaves entities that are already there. */
export function escapeHtmlOnce(text: string): string {
  return text.replace(/[<>"']|&(?!(?:[a-z][a-z0-9]*|#\d+|#x[\da-f]+);)/gi, (c) => htmlEntities[c]!);
}

/** What is read of HTML, in characters. */
const readCharsMax = 500_000;
/** A parser's cost grows with the square of the nesting: 20,000 open tags take 0.1 s. */
const readTagsMax = 20_000;

/** The beginning of HTML that a parser may be given: all of it, but for what is made to be slow. */
export function cutHtml(html: string): string {
  const end = Math.min(html.length, readCharsMax);
  let at = -1;
  for (let tags = 0; tags < readTagsMax; tags += 1) {
    at = html.indexOf('<', at + 1);
    if (at < 0 || at >= end) return html.slice(0, end);
  }
  return html.slice(0, at);
}
