import { Marked, type Token, type Tokens } from 'marked';
import { escapeHtml } from '../../domain/template/html.ts';
import { diagramFile } from './diagrams.ts';
import { codeBlock } from './highlight.ts';

/** A section of a page, from one heading to the next. */
export interface Section {
  id: string;
  heading: string;
  text: string;
}

/** A row of a table that explains the name in its first cell. */
export interface NamedRow {
  id: string;
  name: string;
  text: string;
}

export interface Rendered {
  title: string;
  /** The first paragraph, as plain text. */
  about: string;
  html: string;
  sections: Section[];
  rows: NamedRow[];
}

/** Resolves links and images of a page. */
export interface Surroundings {
  /** Returns the address of a link, or null for a file that is not shown. */
  link(href: string): string | null;
  image(href: string): string;
  /** Returns the address of the same image for dark themes, or null if there is none. */
  darkImage(href: string): string | null;
  /** Drawings by file name: see `diagrams.ts`. */
  diagrams: ReadonlyMap<string, string>;
}

export function renderPage(markdown: string, around: Surroundings): Rendered {
  const marked = new Marked();
  const tokens = grouped(marked.lexer(markdown));
  const ids = idsOf(tokens);
  let tabs = 0;
  marked.use({
    extensions: [
      {
        name: 'tabs',
        renderer: (token) => tabsHtml((token as unknown as Tabs).blocks, (tabs += 1)),
      },
    ],
    renderer: {
      heading(token: Tokens.Heading) {
        const { depth } = token;
        const id = ids.get(token) ?? '';
        const link =
          depth > 1 ? ` <a class="anchor" href="#${id}" aria-label="Link to this part">#</a>` : '';
        return `<h${depth} id="${id}">${this.parser.parseInline(token.tokens)}${link}</h${depth}>\n`;
      },
      link({ href, tokens: inner }: Tokens.Link) {
        const text = this.parser.parseInline(inner);
        const to = around.link(href);
        return to === null ? text : `<a href="${to}">${text}</a>`;
      },
      image({ href, text }: Tokens.Image) {
        const image = `<img src="${around.image(href)}" alt="${text}" loading="lazy">`;
        const dark = around.darkImage(href);
        if (dark === null) return image;
        const source = `<source media="(prefers-color-scheme: dark)" srcset="${dark}">`;
        return `<picture>${source}${image}</picture>`;
      },
      code({ text, lang = '' }: Tokens.Code) {
        if (lang === 'mermaid') return diagram(text, around.diagrams);
        return codeBlock(text, lang.split(' ')[0]);
      },
      table(token: Tokens.Table) {
        const row = (cells: Tokens.TableCell[], tag: string) => {
          const id = ids.get(cells);
          const inner = cells.map(
            (cell) => `<${tag}>${this.parser.parseInline(cell.tokens)}</${tag}>`,
          );
          return `<tr${id ? ` id="${id}"` : ''}>${inner.join('')}</tr>\n`;
        };
        const body = token.rows.map((cells) => row(cells, 'td')).join('');
        return `<div class="wide"><table><thead>${row(token.header, 'th')}</thead><tbody>${body}</tbody></table></div>\n`;
      },
    },
  });
  const title = tokens.find((token) => token.type === 'heading') as Tokens.Heading | undefined;
  const first = tokens.find((token) => token.type === 'paragraph') as Tokens.Paragraph | undefined;
  return {
    title: plain(title?.text ?? ''),
    about: plain(first?.text ?? ''),
    html: marked.parser(tokens),
    sections: sectionsOf(tokens, ids),
    rows: rowsOf(tokens, ids),
  };
}

/** Renders a description: paragraphs, lists and code. */
export function renderText(markdown: string): string {
  return new Marked().parse(markdown, { async: false });
}

interface Tabs {
  type: 'tabs';
  raw: string;
  blocks: Tokens.Code[];
}

const tabName = ({ lang = '' }: Tokens.Code) => /\btab=(\S+)/.exec(lang)?.[1];

/** Joins adjacent blocks of code with tabs (`tab=Python`) into one token. */
function grouped(tokens: Token[]): Token[] {
  const joined: Token[] = [];
  for (const token of tokens) {
    const before = joined.at(-1);
    const isTab = token.type === 'code' && tabName(token as Tokens.Code) !== undefined;
    if (token.type === 'space' && before?.type === 'tabs') continue;
    if (!isTab) joined.push(token);
    else if (before?.type === 'tabs') (before as unknown as Tabs).blocks.push(token as Tokens.Code);
    else joined.push({ type: 'tabs', raw: '', blocks: [token as Tokens.Code] });
  }
  return joined;
}

/** Renders examples as tabs without a script: each tab is a radio button with its label. */
function tabsHtml(blocks: readonly Tokens.Code[], number: number): string {
  const parts = blocks.map((block, at) => {
    const name = escapeHtml(tabName(block) ?? '');
    const id = `tab-${number}-${at}`;
    const checked = at === 0 ? ' checked' : '';
    return `<input type="radio" name="tab-${number}" id="${id}" value="${name}"${checked}><label for="${id}">${name}</label>${codeBlock(block.text, block.lang?.split(' ')[0])}`;
  });
  return `<div class="tabs">${parts.join('')}</div>\n`;
}

/**
 * Width in pixels above which a diagram scrolls instead of shrinking, because its text would become
 * unreadable.
 */
const largeDiagram = 1_200;

function diagram(source: string, diagrams: ReadonlyMap<string, string>): string {
  const svg = diagrams.get(diagramFile(source));
  const title = /^title: *(.+)$/m.exec(source)?.[1];
  const caption = title ? `<figcaption>${escapeHtml(title)}</figcaption>` : '';
  if (!svg) return '';
  const width = Number(/ width="([\d.]+)"/.exec(svg)?.[1]);
  const kind = width > largeDiagram ? 'diagram large' : 'diagram';
  return `<figure class="${kind}" tabindex="0">${svg}${caption}</figure>\n`;
}

/** Returns the ids of headings and named table rows, each unique on the page. */
function idsOf(tokens: readonly Token[]): ReadonlyMap<object, string> {
  const ids = new Map<object, string>();
  const times = new Map<string, number>();
  const unique = (id: string) => {
    const before = times.get(id) ?? 0;
    times.set(id, before + 1);
    return before === 0 ? id : `${id}-${before}`;
  };
  for (const token of tokens) {
    if (token.type === 'heading') ids.set(token, unique(headingId((token as Tokens.Heading).text)));
    if (token.type !== 'table') continue;
    for (const row of (token as Tokens.Table).rows) {
      const name = rowName(row);
      if (name) ids.set(row, unique(name));
    }
  }
  return ids;
}

/** Returns the id that GitHub gives a heading, so that links work there and here. */
function headingId(heading: string): string {
  return plain(heading)
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
    .replaceAll(/\s/g, '-');
}

/** Returns the name that a table row explains, for example a setting or a code. */
function rowName(row: readonly Tokens.TableCell[]): string | undefined {
  return /^`([A-Z][A-Z0-9_]+)`$/.exec(row[0]?.text ?? '')?.[1];
}

function sectionsOf(tokens: readonly Token[], ids: ReadonlyMap<object, string>): Section[] {
  const sections: Section[] = [];
  const parts: string[][] = [];
  for (const token of tokens) {
    const id = ids.get(token);
    if (token.type === 'heading' && id !== undefined) {
      sections.push({ id, heading: plain((token as Tokens.Heading).text), text: '' });
      parts.push([]);
    } else parts.at(-1)?.push(rawOf(token));
  }
  return sections.map((section, at) => ({ ...section, text: plain(parts[at]?.join('') ?? '') }));
}

/** Returns the Markdown of a token without the source of diagrams. */
function rawOf(token: Token): string {
  if (token.type === 'tabs')
    return (token as unknown as Tabs).blocks.map(({ raw }) => raw).join('\n');
  return token.type === 'code' && token['lang'] === 'mermaid' ? '' : token.raw;
}

function rowsOf(tokens: readonly Token[], ids: ReadonlyMap<object, string>): NamedRow[] {
  const tables = tokens.filter((token) => token.type === 'table') as Tokens.Table[];
  return tables
    .flatMap(({ rows }) => rows)
    .flatMap((row) => {
      const [id, name] = [ids.get(row), rowName(row)];
      const text = plain(
        row
          .slice(1)
          .map((cell) => cell.text)
          .join(' '),
      );
      return id !== undefined && name !== undefined ? [{ id, name, text }] : [];
    });
}

export function plain(markdown: string): string {
  return (
    markdown
      .replaceAll(/<!--[^<>]{0,300}-->/g, '')
      // Removes the language of code blocks, and the line under the head of a table.
      .replaceAll(/^```[^\n]*$/gm, '')
      .replaceAll(/^\|[\s:|-]*$/gm, '')
      .replaceAll(/!?\[([^[\]]{0,300})\]\([^()]{0,300}\)/g, '$1')
      .replaceAll(/[*`#>|]+|\b_\B|\B_\b/g, '')
      .replaceAll(/\s+/g, ' ')
      .trim()
  );
}
