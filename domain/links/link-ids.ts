import { hashText } from '../drawing/hash.ts';
import { CompiledTemplate } from '../template/render.ts';
import { readTemplate } from '../template/source.ts';
import { findAnchors, markAttribute, readTarget } from './anchors.ts';

/**
 * Identifies links by the text that their author wrote. `https://shop.example/?u={{id}}` is one
 * link, although it has many targets after rendering. So a link with variables is marked with its
 * id before rendering.
 */

/** Returns the id of a link: 16 hex digits that depend only on its text. */
export function linkIdOf(text: string): string {
  return [0, 1].map((seed) => hashText(text, seed).toString(16).padStart(8, '0')).join('');
}

const marked = new WeakMap<CompiledTemplate, CompiledTemplate>();

/**
 * Returns a template with marks on the links that have variables. Without such links, returns the
 * same template.
 */
export function withMarkedLinks(template: CompiledTemplate): CompiledTemplate {
  let result = marked.get(template);
  if (!result) {
    const source = markLinks(template.source);
    result = source === template.source ? template : new CompiledTemplate(source);
    marked.set(template, result);
  }
  return result;
}

function markLinks(source: string): string {
  if (!/\{[{%]/.test(source)) return source;
  let text = '';
  let done = 0;
  for (const { from, to, quoted } of findAnchors(withoutLiquid(source)).anchors) {
    const value = source.slice(from, to);
    if (!/\{[{%]/.test(value)) continue;
    const end = quoted ? to + 1 : to;
    text += `${source.slice(done, end)} ${markAttribute}="${linkIdOf(readTarget(value) ?? value)}"`;
    done = end;
  }
  return text + source.slice(done);
}

/**
 * Returns the template with letters in place of its placeholders and tags, at the same length. So
 * quotes and brackets in a placeholder are not read as HTML, and no mark is inserted there.
 */
export function withoutLiquid(source: string): string {
  return readTemplate(source)
    .map(({ written }) => (/^\{[{%]/.test(written) ? 'x'.repeat(written.length) : written))
    .join('');
}

const mark = / data-everpost-link="[0-9a-f]{16}"/g;

/**
 * Removes the marks from rendered HTML.
 * @returns `linkIds`: the ids of the links, in order; null if no link has a mark
 */
export function takeMarks(html: string): { html: string; linkIds: string[] | null } {
  if (!html.includes(markAttribute)) return { html, linkIds: null };
  return { html: html.replace(mark, ''), linkIds: linkIdsIn(html) };
}

/** Returns the ids of the links of rendered HTML, in order. */
export function linkIdsIn(html: string): string[] {
  return findAnchors(html).anchors.map(
    ({ value, linkId }) => linkId ?? linkIdOf(readTarget(value) ?? value),
  );
}
