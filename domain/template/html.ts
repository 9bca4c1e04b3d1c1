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

/** Like `escapeHtml`, but entities in the text stay as they are. */
export function escapeHtmlOnce(text: string): string {
  return text.replace(/[<>"']|&(?!(?:[a-z][a-z0-9]*|#\d+|#x[\da-f]+);)/gi, (c) => htmlEntities[c]!);
}

/** Maximum number of characters of HTML that are parsed. */
const readCharsMax = 500_000;
/**
 * Maximum number of tags that are parsed. The cost grows with the square of the nesting depth:
 * 20,000 open tags take 0.1 s.
 */
const readTagsMax = 20_000;

/**
 * Returns the beginning of the HTML: at most `readCharsMax` characters with at most `readTagsMax`
 * tags.
 */
export function cutHtml(html: string): string {
  const end = Math.min(html.length, readCharsMax);
  let at = -1;
  for (let tags = 0; tags < readTagsMax; tags += 1) {
    at = html.indexOf('<', at + 1);
    if (at < 0 || at >= end) return html.slice(0, end);
  }
  return html.slice(0, at);
}

/** Returns the primary tag of a locale in lower case: `de-AT` and `DE_at` become `de`. */
export function primaryLanguage(locale: string): string {
  return /^[a-z]{2,8}(?=$|[-_])/i.exec(locale.trim())?.[0].toLowerCase() ?? '';
}

/**
 * Wraps an HTML fragment (without `<html`) in a document, with text styles that are readable on
 * every screen. The styles are inline, because many mail programs drop style sheets.
 */
export function wrapDocument(html: string, locale: string): string {
  if (/<html/i.test(html)) return html;
  return `<!doctype html>
<html lang="${primaryLanguage(locale) || 'en'}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
</head>
<body style="margin:0;padding:24px;background:#ffffff;">
<div style="max-width:600px;margin:0 auto;font-family:Arial,Helvetica,sans-serif;font-size:16px;line-height:24px;color:#222222;">
${html}
</div>
</body>
</html>
`;
}

export function containsOptOutLink(html: string, contactId: string): boolean {
  return html.includes(`/unsubscribe/${contactId}`) || html.includes(`/manage/${contactId}`);
}
