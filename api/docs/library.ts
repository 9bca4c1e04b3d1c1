import { readdirSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { readDiagrams } from './diagrams.ts';
import { renderPage, type Rendered, type Surroundings } from './markdown.ts';

/** The folder of the documentation: `docs/` of the repository, or of the build. */
export const docsFolder = join(import.meta.dirname, '../../docs');

export interface DocsPage extends Rendered {
  /** The path below `/docs`: `upgrading`, `guides/quick-start`. */
  slug: string;
}

/** Groups and order of the pages in the index. A page that is missing here is not listed. */
export const groups: readonly (readonly [string, readonly string[]])[] = [
  [
    'Guides',
    [
      'guides/quick-start',
      'guides/console',
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
      'guides/orders-and-bookings',
      'guides/digests',
      'journeys',
      'guides/webhooks',
      'guides/secrets',
      'guides/api-keys',
      'guides/keys-for-ci',
      'guides/leaked-key',
      'guides/files',
      'guides/event-subscriptions',
      'guides/campaigns',
      'guides/timing',
      'guides/follow-up',
      'guides/local-time',
      'guides/quiet-hours',
      'guides/experiments',
      'guides/reading-the-numbers',
      'guides/goals',
      'guides/hold-outs',
      'guides/deliverability',
      'guides/warm-up',
      'guides/single-sign-on',
      'guides/mail-services',
      'guides/several-providers',
      'guides/mail-routes',
      'guides/no-mail',
      'guides/simulator',
      'guides/errors',
      'guides/failed-requests',
      'guides/repeating',
      'guides/typescript',
      'guides/command-line',
      'guides/testing-journeys',
    ],
  ],
  ['Rules in detail', ['template-language', 'steps', 'event-delivery', 'consent-rules']],
  [
    'Running it',
    [
      'installing',
      'guides/production',
      'guides/kubernetes',
      'guides/moving',
      'operating/night-shift',
      'operating/journal',
      'operating/restores',
      'operating/metrics',
      'operating/alerts',
      'operating/delivery',
      'operating/amazon-ses',
      'operating/own-mail-server',
      'operating/dkim',
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

/** Reads all pages of `docs/`, by their slug, in the order of the index. */
export async function readPages(): Promise<ReadonlyMap<string, DocsPage>> {
  const slugs = groups.flatMap(([, names]) => names);
  const found = (await readdir(docsFolder, { recursive: true }))
    .filter((file) => file.endsWith('.md'))
    .map((file) => file.slice(0, -'.md'.length).replaceAll('\\', '/'))
    .toSorted((one, other) => placeOf(slugs, one) - placeOf(slugs, other));
  const known = new Set(found);
  const diagrams = await readDiagrams();
  const images = new Set(await readdir(join(docsFolder, 'images')));
  const read = found.map(async (slug) => {
    const markdown = await readFile(join(docsFolder, `${slug}.md`), 'utf8');
    return [
      slug,
      { slug, ...renderPage(markdown, around(slug, { known, images, diagrams })) },
    ] as const;
  });
  return new Map(await Promise.all(read));
}

function placeOf(slugs: readonly string[], slug: string): number {
  const place = slugs.indexOf(slug);
  return place < 0 ? slugs.length : place;
}

/** The files to which a page may refer: pages by slug, images by name. */
interface Files {
  known: ReadonlySet<string>;
  images: ReadonlySet<string>;
  diagrams: ReadonlyMap<string, string>;
}

function around(slug: string, { known, images, diagrams }: Files): Surroundings {
  const image = (href: string) => `/docs/${resolved(slug, href)}`;
  return {
    link: (href) => linkFrom(slug, href, known),
    image,
    darkImage(href) {
      const dark = href.replace(/\.png$/, '-dark.png');
      return images.has(basename(dark)) && dark !== href ? image(dark) : null;
    },
    diagrams,
  };
}

/**
 * Returns the target of a link in a page: a path relative to `docs/`, or for a file outside,
 * relative to the repository (`README.md`).
 */
function resolved(slug: string, href: string): string {
  return new URL(href, `file:///docs/${slug}`).pathname.replace(/^\/(docs\/)?/, '');
}

/** Returns the URL of a link, or null for a file that this server does not show. */
function linkFrom(slug: string, href: string, known: ReadonlySet<string>): string | null {
  if (/^(https?:|#)/.test(href)) return href;
  const [path = '', hash = ''] = href.split(/(?=#)/);
  const inside = resolved(slug, path);
  if (inside === 'README.md') return `/docs`;
  const page = inside.replace(/\.md$/, '');
  return inside.endsWith('.md') && known.has(page) ? `/docs/${page}${hash}` : null;
}
