import { hashText } from '../drawing/hash.ts';
import { CompiledTemplate } from '../template/render.ts';
import { readTemplate } from '../template/source.ts';
import { findAnchors, markAttribute, readTarget } from './anchors.ts';

/**
 * Links as their author wrote them. `https://shop.example/?u={{id}}` is one link, however many
 * targets it has after rendering. Before it is rendered, such a link is marked with its id.
 */

/** Returns the id of a link: 16 hex digits, the same for each link with this text. */
export function linkIdOf(text: string): string {
  return [0, 1].map((seed) => hashText(text, seed).toString(16).padStart(8, '0')).join('');
}

const marked = new WeakMap<CompiledTemplate, CompiledTemplate>();

/**
 * Returns a template in which links with variables are marked. Without such links, it is the same
 * template.
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
 * Returns a template of the same length with letters for placeholders and tags. So quotes and
 * brackets in them are not read as HTML, and no mark is inserted into them.
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
