/** Lower-case primary tag of a locale: `de-AT` and `DE_at` are `de`. */
export function primaryLanguage(locale: string): string {
  return /^[a-z]{2,8}(?=$|[-_])/i.exec(locale.trim())?.[0].toLowerCase() ?? '';
}

/**
 * Wraps a fragment (it has no `<html`) in a document, with text styles that are readable on every
 * screen. The styles are inline, because many mail programs drop style sheets.
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

/** True when the body has an opt-out link for this contact. */
export function containsOptOutLink(html: string, contactId: string): boolean {
  return html.includes(`/unsubscribe/${contactId}`) || html.includes(`/manage/${contactId}`);
}
