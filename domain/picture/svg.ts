import { escapeHtml } from '../template/html.ts';
import {
  type Area,
  type Drawing,
  type Line,
  type Point,
  fonts,
  sizes,
  type StepBox,
} from './layout.ts';
import type { PictureWay, StepState } from './picture.ts';

/**
 * Writes a drawing as SVG, for a page or as a file, in light and dark, without scripts or external
 * resources. All texts are escaped, because they come from customers. No library is used, because
 * libraries need the document of a browser.
 */
export function svgOf(drawing: Drawing): string {
  const { width, height, name, title, subtitle } = drawing;
  const { margin } = sizes;
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" ` +
      `height="${height}" role="img">`,
    `<title>${escaped(name)}</title>`,
    `<style>${style}</style>`,
    `<rect class="page" width="${width}" height="${height}"/>`,
    `<text class="title" x="${margin}" y="${margin + 16}">${escaped(title)}</text>`,
    `<text class="note" x="${margin}" y="${margin + 36}">${escaped(subtitle)}</text>`,
    ...drawing.lines.map(arrow),
    ...drawing.boxes.map(box),
    // Labels are drawn last, so that no line crosses them.
    ...drawing.lines.map(label),
    '</svg>',
    '',
  ].join('\n');
}

const style = `
svg{--page:#fff;--box:#fff;--line:#8a94a3;--edge:#c3cad4;--text:#16202c;--soft:#5a6675;
--done:#1a7f4b;--current:#1261c9;--failed:#c02b2b;--skipped:#8a6100;--mark:#fff;
font-family:system-ui,-apple-system,"Segoe UI",Roboto,"Helvetica Neue",Arial,"Noto Sans",sans-serif}
@media (prefers-color-scheme:dark){svg{--page:#10151c;--box:#1a222d;--line:#7c8898;--edge:#3a4656;
--text:#e8edf4;--soft:#a3afbf;--done:#4cc38a;--current:#6cb0ff;--failed:#ff8080;--skipped:#e0b252;
--mark:#10151c}}
.page{fill:var(--page)}
.title{font-size:${fonts.title.size}px;font-weight:650;fill:var(--text)}
.box{fill:var(--box);stroke:var(--edge);stroke-width:1.25}
.type{font-size:${fonts.type.size}px;font-weight:600;letter-spacing:.04em;fill:var(--soft)}
.name{font-size:${fonts.name.size}px;font-weight:600;fill:var(--text)}
.note{font-size:${fonts.note.size}px;fill:var(--soft)}
.fault{font-size:${fonts.note.size}px;fill:var(--failed)}
.word{font-size:${fonts.note.size}px;font-weight:600;text-anchor:end}
.line{fill:none;stroke:var(--line);stroke-width:1.4}
.head{fill:var(--line)}
.open .line{stroke-dasharray:2 4}
.open .label{font-weight:400;fill:var(--soft)}
.taken .line{stroke:var(--text);stroke-width:2}
.taken .head{fill:var(--text)}
.label{font-size:${fonts.label.size}px;font-weight:600;fill:var(--text);text-anchor:middle}
.pill{fill:var(--page);stroke:var(--edge)}
.reference{font-size:${fonts.note.size}px;font-weight:600;fill:var(--text)}
.reference.open{font-weight:400;fill:var(--soft)}
.mark{fill:none;stroke:var(--mark);stroke-width:1.8;stroke-linecap:round;stroke-linejoin:round}
.done .box{stroke:var(--done)}.done .dot,.done .word{fill:var(--done)}
.current .box{stroke:var(--current);stroke-width:3}.current .dot,.current .word{fill:var(--current)}
.scheduled .box{stroke:var(--current);stroke-dasharray:7 4}
.scheduled .dot,.scheduled .word{fill:var(--current)}
.failed .box{stroke:var(--failed);stroke-width:3}.failed .dot,.failed .word{fill:var(--failed)}
.skipped .box{stroke:var(--skipped);stroke-dasharray:7 4}
.skipped .dot,.skipped .word{fill:var(--skipped)}
.skipped .name{text-decoration:line-through}
.untouched .box{stroke-dasharray:2 4}
.untouched .name,.untouched .type{fill:var(--soft);font-weight:400}
`.replaceAll('\n', '');

function box({ step, name, notes, fault, references, ...area }: StepBox): string {
  const left = area.x - area.width / 2;
  const top = area.y - area.height / 2;
  const x = left + sizes.padding;
  const firstNote = top + 65;
  const rows = [
    ...notes.map((text) => ({ kind: 'note', text })),
    ...fault.map((text) => ({ kind: 'fault', text })),
    ...references.map(({ text, isTaken }) => ({
      kind: isTaken === false ? 'reference open' : 'reference',
      text,
    })),
  ];
  const whole = [step.name, ...step.notes, ...(step.fault === null ? [] : [step.fault])];
  return [
    `<g class="step${step.state === null ? '' : ` ${step.state}`}">`,
    // The tooltip has the whole text, because the box may show only parts of it.
    `<title>${escaped(whole.join('\n'))}</title>`,
    `<rect class="box" x="${n(left)}" y="${n(top)}" width="${area.width}" ` +
      `height="${area.height}" rx="9"/>`,
    `<text class="type" x="${n(x)}" y="${n(top + 21)}">${escaped(step.label)}</text>`,
    `<text class="name" x="${n(x)}" y="${n(top + 42)}">${escaped(name)}</text>`,
    ...rows.map(
      ({ kind, text }, index) =>
        `<text class="${kind}" x="${n(x)}" y="${n(firstNote + index * sizes.noteLine)}">` +
        `${escaped(text)}</text>`,
    ),
    ...(step.state === null ? [] : [mark(step.state, step.word ?? '', area)]),
    '</g>',
  ].join('');
}

/** SVG paths of the marks. Each fits in a circle of radius 7. */
const marks: Record<StepState, string> = {
  done: 'M-3.2 .2 -1 2.6 3.4 -2.4',
  current: 'M-1.8 -3.2 2.8 0 -1.8 3.2Z',
  scheduled: 'M0 -3.4V.4L2.6 2',
  skipped: 'M-3.4 -2.4 -.6 0 -3.4 2.4M.6 -2.4 3.4 0 .6 2.4',
  failed: 'M-2.6 -2.6 2.6 2.6M2.6 -2.6 -2.6 2.6',
  untouched: '',
};

function mark(state: StepState, word: string, area: Area): string {
  if (state === 'untouched') return '';
  const right = area.x + area.width / 2 - sizes.padding;
  const y = area.y - area.height / 2 + 17;
  return (
    `<g transform="translate(${n(right - 7)} ${n(y)})"><circle class="dot" r="7.5"/>` +
    `<path class="mark" d="${marks[state]}"/></g>` +
    `<text class="word" x="${n(right - 20)}" y="${n(y + 4)}">${escaped(word)}</text>`
  );
}

function kindOf({ isTaken }: PictureWay): string {
  if (isTaken === null) return 'way';
  return isTaken ? 'way taken' : 'way open';
}

function arrow({ way, points }: Line): string {
  const end = points.at(-1);
  if (!end) return '';
  const { x, y } = end;
  return (
    `<g class="${kindOf(way)}"><path class="line" d="${path(points)}"/>` +
    `<path class="head" d="M${n(x)} ${n(y)}l-4.5 -8.5h9z"/></g>`
  );
}

/**
 * Draws a curve through all points. The curve leaves and reaches each row vertically, so two curves
 * side by side do not cross between rows.
 */
function path(points: readonly Point[]): string {
  const [first, ...rest] = points;
  if (!first) return '';
  let from = first;
  const parts = [`M${n(first.x)} ${n(first.y)}`];
  for (const [index, point] of rest.entries()) {
    // Leave room for the arrowhead.
    const y = index === rest.length - 1 ? point.y - 6 : point.y;
    const middle = (from.y + y) / 2;
    parts.push(
      Math.abs(from.x - point.x) < 0.5
        ? `L${n(point.x)} ${n(y)}`
        : `C${n(from.x)} ${n(middle)} ${n(point.x)} ${n(middle)} ${n(point.x)} ${n(y)}`,
    );
    from = point;
  }
  return parts.join('');
}

function label({ way, label: at }: Line): string {
  if (!at) return '';
  return (
    `<g class="${kindOf(way)}"><title>${escaped(at.whole)}</title>${pill(at)}` +
    `<text class="label" x="${n(at.x)}" y="${n(at.y + 4)}">${escaped(at.text)}</text></g>`
  );
}

function pill({ x, y, width, height }: Area): string {
  return (
    `<rect class="pill" x="${n(x - width / 2)}" y="${n(y - height / 2)}" ` +
    `width="${n(width)}" height="${height}" rx="${height / 2}"/>`
  );
}

const n = (length: number) => String(Math.round(length * 10) / 10);

/**
 * Characters that XML 1.0 cannot contain: most control characters and halves of surrogate pairs.
 */
const unwritable = /[^\P{Cc}\t\n\r]|[\u{fffe}\u{ffff}]|\p{Surrogate}/gu;

function escaped(text: string): string {
  return escapeHtml(text.replaceAll(unwritable, '\ufffd'));
}
