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
  const isVerbatim = verbatimIn(source);
  let text = '';
  let done = 0;
  for (const { to, quoted, value } of findAnchors(source).anchors) {
    const end = quoted ? to + 1 : to;
    // Inside a placeholder, the mark would change the placeholder.
    if (!/\{[{%]/.test(value) || !isVerbatim(end - 1)) continue;
    text += `${source.slice(done, end)} ${markAttribute}="${linkIdOf(readTarget(value) ?? value)}"`;
    done = end;
  }
  return text + source.slice(done);
}

/**
 * Returns a function that is true for positions outside of placeholders and tags. It must be called
 * with positions in ascending order.
 */
function verbatimIn(source: string): (at: number) => boolean {
  const pieces = readTemplate(source);
  let index = 0;
  let start = 0;
  return (at) => {
    while (index < pieces.length && at >= start + pieces[index]!.written.length) {
      start += pieces[index]!.written.length;
      index += 1;
    }
    const piece = pieces[index];
    return piece !== undefined && !/^\{[{%]/.test(piece.written);
  };
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
