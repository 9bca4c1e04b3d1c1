import { readdirSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Marked, type Tokens } from 'marked';

/** The documentation as it lies beside the program: `docs/` of the repository, or of the build. */
export const docsFolder = join(import.meta.dirname, '../../docs');

/** A page of the documentation. */
export interface DocsPage {
  /** Below `/docs`: `upgrading`, `guides/quick-start`. */
  slug: string;
  title: string;
  /** Its first paragraph, as text. */
  about: string;
  html: string;
  /** All it says, for the search. */
  text: string;
}

/** How the index groups and orders the pages; what it does not name comes last. */
export const groups: readonly (readonly [string, readonly string[]])[] = [
  [
    'Guides',
    [
      'guides/quick-start',
      'guides/sending',
      'guides/templates',
      'guides/attachments',
      'guides/contacts',
      'guides/imports',
      'guides/consent',
      'guides/erasure',
      'guides/segments',
      'guides/conditions',
      'guides/journeys-in-ten-minutes',
      'journeys',
      'guides/webhooks',
      'guides/webhooks-python-go',
      'guides/secrets',
      'guides/event-subscriptions',
      'guides/campaigns',
      'guides/timing',
      'guides/local-time',
      'guides/quiet-hours',
      'guides/deliverability',
      'guides/no-mail',
      'guides/simulator',
      'guides/errors',
      'guides/repeating',
      'guides/typescript',
    ],
  ],
  ['Rules in detail', ['template-language', 'steps', 'event-delivery', 'consent-rules']],
  [
    'Running it',
    [
      'installing',
      'guides/production',
      'guides/moving',
      'operating/night-shift',
      'operating/metrics',
      'operating/delivery',
      'operating/amazon-ses',
      'operating/temporal-ui',
      'replaying',
      'configuration',
      'scaling',
      'security',
      'upgrading',
    ],
  ],
  ['How it works', ['architecture', 'data-model', 'performance', 'benchmarks', 'faults']],
  ['Decisions', decisions()],
];

function decisions(): string[] {
  return readdirSync(join(docsFolder, 'decisions'))
    .map((file) => `decisions/${file.replace(/\.md$/, '')}`)
    .toSorted();
}

let pages: Promise<ReadonlyMap<string, DocsPage>> | undefined;

/** All pages by their slug, read once in the life of the process; again when that has failed. */
export function docsPages(): Promise<ReadonlyMap<string, DocsPage>> {
  pages ??= readPages().catch((error: unknown) => {
    pages = undefined;
    throw error;
  });
  return pages;
}

async function readPages(): Promise<ReadonlyMap<string, DocsPage>> {
  const slugs = groups.flatMap(([, names]) => names);
  const found = (await readdir(docsFolder, { recursive: true }))
    .filter((file) => file.endsWith('.md'))
    .map((file) => file.slice(0, -'.md'.length).replaceAll('\\', '/'))
    .toSorted((one, other) => placeOf(slugs, one) - placeOf(slugs, other));
  const known = new Set(found);
  const read = found.map(async (slug) => {
    const markdown = await readFile(join(docsFolder, `${slug}.md`), 'utf8');
    return [slug, pageOf(slug, withoutDiagrams(markdown), known)] as const;
  });
  return new Map(await Promise.all(read));
}

/** Without diagrams, which only other readers of Markdown draw: the pages say the same in words. */
function withoutDiagrams(markdown: string): string {
  const tokens = new Marked().lexer(markdown);
  const kept = tokens.filter((token) => token.type !== 'code' || token['lang'] !== 'mermaid');
  return kept.map(({ raw }) => raw).join('');
}

function placeOf(slugs: readonly string[], slug: string): number {
  const place = slugs.indexOf(slug);
  return place < 0 ? slugs.length : place;
}

/** @param known the slugs that a link may lead to */
function pageOf(slug: string, markdown: string, known: ReadonlySet<string>): DocsPage {
  const marked = new Marked();
  const ids = new Map<string, number>();
  marked.use({
    renderer: {
      heading({ tokens, depth, text }: Tokens.Heading) {
        const id = idOf(text, ids);
        const link =
          depth > 1 ? ` <a class="anchor" href="#${id}" aria-label="Link to this part">#</a>` : '';
        return `<h${depth} id="${id}">${this.parser.parseInline(tokens)}${link}</h${depth}>\n`;
      },
      link({ href, tokens }: Tokens.Link) {
        const text = this.parser.parseInline(tokens);
        const to = linkFrom(slug, href, known);
        return to === null ? text : `<a href="${to}">${text}</a>`;
      },
      image({ href, text }: Tokens.Image) {
        return `<img src="/docs/${resolved(slug, href)}" alt="${text}" loading="lazy">`;
      },
      table(token: Tokens.Table) {
        const row = (cells: Tokens.TableCell[], tag: string) =>
          `<tr>${cells.map((cell) => `<${tag}>${this.parser.parseInline(cell.tokens)}</${tag}>`).join('')}</tr>\n`;
        const body = token.rows.map((cells) => row(cells, 'td')).join('');
        return `<div class="wide"><table><thead>${row(token.header, 'th')}</thead><tbody>${body}</tbody></table></div>\n`;
      },
    },
  });
  const tokens = marked.lexer(markdown);
  const title = tokens.find((token) => token.type === 'heading') as Tokens.Heading | undefined;
  const first = tokens.find((token) => token.type === 'paragraph') as Tokens.Paragraph | undefined;
  return {
    slug,
    title: plain(title?.text ?? slug),
    about: plain(first?.text ?? ''),
    html: marked.parser(tokens),
    text: plain(markdown),
  };
}

/** Markdown without its signs. */
function plain(markdown: string): string {
  return (
    markdown
      .replaceAll(/<!--[^<>]{0,300}-->/g, '')
      // The language of a block of code, and the line between head and body of a table.
      .replaceAll(/^```[^\n]*$/gm, '')
      .replaceAll(/^\|[\s:|-]*$/gm, '')
      .replaceAll(/!?\[([^[\]]{0,300})\]\([^()]{0,300}\)/g, '$1')
      .replaceAll(/[*`#>|]+|\b_\B|\B_\b/g, '')
      .replaceAll(/\s+/g, ' ')
      .trim()
  );
}

/** The id of a heading as GitHub makes it, so that links work in both places. */
function idOf(heading: string, ids: Map<string, number>): string {
  const id = plain(heading)
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
    .replaceAll(/\s/g, '-');
  const times = ids.get(id) ?? 0;
  ids.set(id, times + 1);
  return times === 0 ? id : `${id}-${times}`;
}

/** A path in a page, seen from `docs/`. */
function resolved(slug: string, href: string): string {
  return new URL(href, `file:///docs/${slug}`).pathname.replace(/^\/(docs\/)?/, '');
}

/** Returns the address of a link on this server, or null for a file that it does not show. */
function linkFrom(slug: string, href: string, known: ReadonlySet<string>): string | null {
  if (/^(https?:|#)/.test(href)) return href;
  const [path = '', hash = ''] = href.split(/(?=#)/);
  const inside = resolved(slug, path);
  if (inside === 'README.md') return `/docs`;
  const page = inside.replace(/\.md$/, '');
  return inside.endsWith('.md') && known.has(page) ? `/docs/${page}${hash}` : null;
}

/** A page that has all the words, and where it has the first of them. */
export interface Hit {
  page: DocsPage;
  excerpt: string;
}

/** Characters of an excerpt on each side of the word. */
const excerptChars = 90;

/** The pages that have all the words of `query`, those with most of them first. */
export async function searchDocs(query: string): Promise<Hit[]> {
  const words = query
    .toLowerCase()
    .split(/\s+/)
    .filter((word) => word !== '');
  if (words.length === 0) return [];
  const all = [...(await docsPages()).values()];
  const found = all.flatMap((page) => {
    const text = page.text.toLowerCase();
    const places = words.map((word) => placesOf(text, word));
    const first = places[0]?.[0];
    if (first === undefined || places.some((of) => of.length === 0)) return [];
    const inTitle = words.filter((word) => placesOf(page.title.toLowerCase(), word).length > 0);
    const score = places.flat().length + titleScore * inTitle.length;
    return [{ page, score, excerpt: excerptOf(page.text, words[0] ?? '', first) }];
  });
  return found.toSorted((one, other) => other.score - one.score);
}

/** A word in the title counts as often as this in the text. */
const titleScore = 20;

/** Positions at which words of a text begin with a word, both in lower case. */
function placesOf(text: string, word: string): number[] {
  const places: number[] = [];
  for (let at = text.indexOf(word); at >= 0; at = text.indexOf(word, at + word.length)) {
    if (!/[\p{L}\p{N}]/u.test(text[at - 1] ?? '')) places.push(at);
  }
  return places;
}

function excerptOf(text: string, word: string, at: number): string {
  const from = Math.max(0, at - excerptChars);
  const end = Math.min(text.length, at + word.length + excerptChars);
  return `${from > 0 ? '…' : ''}${text.slice(from, end)}${end < text.length ? '…' : ''}`;
}
