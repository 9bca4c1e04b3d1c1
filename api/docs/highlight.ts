import { createRequire } from 'node:module';
import { escapeHtml } from '../../domain/template/html.ts';

// Loaded by `require`, because the types of an import would add browser globals to all files.
const highlighter = createRequire(import.meta.url)('highlight.js/lib/common') as {
  getLanguage(name: string): object | undefined;
  highlight(code: string, options: { language: string }): { value: string };
};

/** Renders a block of code, with the classes of highlight.js if it supports the language. */
export function codeBlock(code: string, language = ''): string {
  const shown = highlighter.getLanguage(language)
    ? highlighter.highlight(code, { language }).value
    : escapeHtml(code);
  return `<div class="code"><pre tabindex="0"><code>${shown}</code></pre></div>\n`;
}
