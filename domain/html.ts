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
