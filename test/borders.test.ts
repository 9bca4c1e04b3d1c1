import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { importsOf } from './support/imports.ts';

/** Which folder may import which, checked against the imports of the code. */

interface Room {
  /** The longest prefix decides which room a file is in. */
  prefix: string;
  /** Prefixes of what it may import, besides itself. */
  uses: readonly string[];
  /** The same for what it may only import as types. */
  types?: readonly string[];
  /** The packages it may import; when not given: any but Temporal's. */
  packages?: RegExp;
}

const product = ['domain/', 'db/', 'providers/', 'workflows/client/'];
const anything = [''];

const rooms: readonly Room[] = [
  // Pure code: no clock, no files, no network.
  { prefix: 'domain/', uses: ['domain/'], packages: /^(liquidjs|yaml|entities\/lib\/decode\.js)$/ },
  { prefix: 'domain/picture/', uses: ['domain/'], packages: /^@dagrejs\/dagre$/ },
  { prefix: 'domain/workflow/steps/', uses: ['domain/'], packages: /^zod$/ },
  { prefix: 'domain/filter/selection.ts', uses: ['domain/'], packages: /^zod$/ },
  { prefix: 'domain/time/zones.ts', uses: ['domain/'], packages: /^temporal-polyfill$/ },
  { prefix: 'domain/schema-texts.ts', uses: ['domain/'], packages: /^zod$/ },
  { prefix: 'domain/time/schemas.ts', uses: ['domain/'], packages: /^zod$/ },
  { prefix: 'db/', uses: ['domain/'], packages: /^(kysely|pg|uuid|node:.*)$/ },
  { prefix: 'providers/', uses: ['domain/', 'providers/mail/'] },
  // A provider declares its own variables.
  { prefix: 'providers/log-file-settings.ts', uses: ['config-fields.ts'] },
  { prefix: 'providers/engagement/', uses: ['domain/', 'providers/', 'config-fields.ts'] },
  { prefix: 'providers/journal/', uses: ['domain/', 'providers/', 'config-fields.ts'] },
  { prefix: 'providers/login/', uses: ['domain/', 'providers/', 'config-fields.ts'] },
  { prefix: 'providers/metrics/', uses: ['domain/', 'providers/', 'config-fields.ts'] },
  { prefix: 'providers/mail/', uses: ['domain/', 'providers/', 'config-fields.ts'] },
  { prefix: 'providers/payments/', uses: ['domain/', 'providers/', 'config-fields.ts'] },
  // Deterministic: everything else happens in activities, known by their types alone.
  {
    prefix: 'workflows/',
    uses: ['domain/'],
    types: ['activities/'],
    packages: /^@temporalio\/(workflow|common)$/,
  },
  {
    // Sends work that is due in the database to Temporal.
    prefix: 'workflows/client/',
    uses: ['domain/', 'db/database.ts', 'db/outbox/', 'db/workflows/'],
    packages: /^(@temporalio\/(client|common)|p-limit)$/,
  },
  {
    prefix: 'activities/',
    uses: ['domain/', 'db/', 'providers/'],
    packages: /^(?!@temporalio\/(?!(activity|common)$))/,
  },
  { prefix: 'api/', uses: [...product, 'package.json'], types: ['config.ts'] },
  {
    prefix: 'worker/',
    uses: [...product, 'workflows/', 'activities/'],
    types: ['config.ts'],
    packages: /./,
  },
  {
    prefix: 'config.ts',
    uses: [
      'domain/',
      'config-fields.ts',
      'providers/engagement/machine-rules-file.ts',
      'providers/journal/settings.ts',
      'providers/log-file-settings.ts',
      'providers/login/sign-in-settings.ts',
      'providers/mail-providers.ts',
      'providers/mail/incoming-settings.ts',
      'providers/mail/signing-settings.ts',
      'providers/metrics/settings.ts',
      'providers/payments/settings.ts',
    ],
    types: ['providers/mail/'],
  },
  { prefix: 'config-fields.ts', uses: [] },
  // Creates the services of the API's handlers and of the activities.
  {
    prefix: 'compose.ts',
    uses: [...product, 'api/services/', 'activities/restores/mail-gate.ts'],
    types: ['config.ts', 'worker/'],
    packages: /./,
  },
  {
    prefix: 'compose-metrics.ts',
    uses: [...product, 'package.json'],
    types: ['config.ts'],
    packages: /./,
  },
  // The process entries create what the other rooms take as arguments.
  { prefix: 'api/main.ts', uses: ['api/', 'config.ts'] },
  { prefix: 'api/break-glass.ts', uses: ['api/', 'db/', 'domain/', 'config.ts'] },
  {
    prefix: 'api/serve.ts',
    uses: [...product, 'api/', 'compose.ts', 'compose-metrics.ts'],
    types: ['config.ts'],
  },
  { prefix: 'db/main.ts', uses: ['db/', 'config.ts', 'providers/'] },
  {
    prefix: 'worker/main.ts',
    uses: [...product, 'worker/', 'compose.ts', 'compose-metrics.ts', 'config.ts'],
    packages: /./,
  },
  // The client that users install: it needs no package and uses only the public API.
  { prefix: 'client/', uses: [], packages: /^$/ },
  // The command line is bundled with what it uses, so that the package has no dependencies. It reads
  // and plays files by the same code as the server.
  {
    prefix: 'client/cli/',
    uses: ['client/', 'domain/', 'api/files/journeys/', 'api/files/reading/'],
    packages: /^(node:.*|yaml|diff)$/,
  },
  // The console is one of the API's clients, and knows nothing else of the server.
  {
    prefix: 'console/',
    // It reads a contact file as the server does, so that the preview shows what will be stored,
    // and offers the scopes that the server knows.
    uses: [
      'console/',
      'client/',
      'domain/contact/csv.ts',
      'domain/contact/csv-lines.ts',
      'domain/access/scopes.ts',
    ],
    packages: /./,
  },
  {
    prefix: 'dev/',
    uses: [...product, 'dev/', 'worker/', 'api/', 'client/', 'config.ts'],
    packages: /./,
  },
  {
    // The commands for operators of a server.
    prefix: 'ops/',
    uses: [...product, 'activities/restores/', 'dev/servers/'],
    packages: /^(@temporalio\/client|kysely|node:.*)$/,
  },
  { prefix: 'bench/', uses: anything, packages: /./ },
  { prefix: 'test/', uses: anything, packages: /./ },
];

/** Rooms whose folders do not import each other in a circle. */
const roomsOfFolders = [
  'domain/',
  'db/',
  'providers/',
  'workflows/',
  'activities/',
  'api/',
  'worker/',
  'client/',
  'console/',
  'dev/',
  'bench/',
  'test/',
];

/**
 * The floors of `db/`, from the bottom. A file imports its own folder and lower floors. A noun
 * does not import another noun.
 */
const floors = ['base', 'sql', 'nouns', 'reads', 'transactions'] as const;

/** The folders of `db/transactions/`, and the ones that each imports. */
const transactions: Readonly<Record<string, readonly string[]>> = {
  campaigns: [],
  contacts: ['events'],
  engagement: ['events', 'mail'],
  erasure: ['executions'],
  events: ['executions'],
  'execution-jobs': ['executions'],
  executions: [],
  mail: ['campaigns', 'contacts', 'events'],
  projects: ['executions', 'subscriptions'],
  files: [],
  ramps: [],
  restores: [],
  subscriptions: [],
};

/**
 * Returns the floor of a file of `db/`, and its room there: nouns and transactions have several.
 */
function floorOf(file: string): { floor: (typeof floors)[number]; room: string } {
  const [, folder = '', next = ''] = file.split('/');
  if (folder.endsWith('.ts') || folder === 'outbox') return { floor: 'base', room: '' };
  if (folder === 'transactions') return { floor: folder, room: next };
  if (folder === 'sql' || folder === 'reads') return { floor: folder, room: '' };
  return { floor: 'nouns', room: folder };
}

const root = path.join(import.meta.dirname, '..');
const files = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard'], {
  cwd: root,
  encoding: 'utf8',
})
  .split('\n')
  .filter((file) => roomOf(file) !== undefined && /\.(tsx?|mjs)$/.test(file));

function roomOf(file: string): Room | undefined {
  return rooms
    .filter(({ prefix }) => file.startsWith(prefix))
    .toSorted((a, b) => b.prefix.length - a.prefix.length)[0];
}

const imports = files.flatMap((file) =>
  importsOf(file, readFileSync(path.join(root, file), 'utf8')).map((one) => ({ file, ...one })),
);

describe('the borders between the rooms', () => {
  it('are read from every file of the product', () => {
    expect(files.length).toBeGreaterThan(300);
    expect(imports.length).toBeGreaterThan(1_500);
  });

  it.each(rooms.map((room) => [room.prefix, room] as const))('%s keeps to its own', (_, room) => {
    const may = (prefixes: readonly string[], target: string) =>
      prefixes.some((prefix) => target.startsWith(prefix));
    const crossed = imports
      .filter(({ file }) => roomOf(file) === room)
      .filter(({ target, isPackage, isType }) => {
        if (isPackage) {
          return !(room.packages ?? /^(?!@temporalio\/)/).test(target);
        }
        const own = target.startsWith(room.prefix) && roomOf(target) === room;
        return !own && !may(room.uses, target) && !(isType && may(room.types ?? [], target));
      })
      .map(({ file, target }) => `${file} imports ${target}`);
    expect(crossed).toEqual([]);
  });

  it('are crossed in no circle, not even by types', () => {
    const targets = new Map<string, string[]>();
    for (const { file, target, isPackage } of imports) {
      if (!isPackage) targets.set(file, [...(targets.get(file) ?? []), target]);
    }
    expect(circleIn(targets)).toBeNull();
  });

  it.each(roomsOfFolders)('leave no circle of folders in %s', (room) => {
    expect(circleIn(foldersIn(room))).toBeNull();
  });

  it('leave no folder with more files than one can look over', () => {
    const counts = new Map<string, number>();
    for (const file of files.filter((file) => !file.startsWith('test/'))) {
      const folder = path.dirname(file);
      counts.set(folder, (counts.get(folder) ?? 0) + 1);
    }
    expect([...counts].filter(([, count]) => count > 16)).toEqual([]);
  });
});

describe('the floors of db/', () => {
  const within = imports
    .filter(({ file, target }) => file.startsWith('db/') && target.startsWith('db/'))
    // A process entry is above all floors.
    .filter(({ file }) => file !== 'db/main.ts')
    .map(({ file, target }) => ({ file, target, from: floorOf(file), to: floorOf(target) }));

  it('are imported from above alone, and no noun imports another', () => {
    const upward = within.filter(
      ({ from, to }) =>
        floors.indexOf(to.floor) > floors.indexOf(from.floor) ||
        (from.floor === 'nouns' && to.floor === 'nouns' && from.room !== to.room),
    );
    expect(upward.map(({ file, target }) => `${file} imports ${target}`)).toEqual([]);
  });

  it('have transactions that use each other as listed', () => {
    const used = Object.keys(transactions).map((room): [string, string[]] => {
      const others = within.filter(
        ({ from, to }) =>
          from.floor === 'transactions' && from.room === room && to.floor === 'transactions',
      );
      const rooms = new Set(others.map(({ to }) => to.room).filter((other) => other !== room));
      return [room, [...rooms].toSorted()];
    });
    expect(Object.fromEntries(used)).toEqual(transactions);
    expect(
      within.filter(({ from }) => from.floor === 'transactions' && !(from.room in transactions)),
    ).toEqual([]);
  });
});

/** Returns the imports between the folders of a room. */
function foldersIn(room: string): Map<string, string[]> {
  const targets = new Map<string, string[]>();
  for (const { file, target, isPackage } of imports) {
    if (isPackage || !file.startsWith(room) || !target.startsWith(room)) continue;
    const [from, to] = [folderOf(file), folderOf(target)];
    if (from !== to) targets.set(from, [...(targets.get(from) ?? []), to]);
  }
  return targets;
}

/** A process entry combines the folders, so it belongs to none of them. */
function folderOf(file: string): string {
  return path.basename(file) === 'main.ts' ? file : path.dirname(file);
}

/** Returns the first circle: its files in order, the first one again at the end. */
function circleIn(targets: ReadonlyMap<string, readonly string[]>): string[] | null {
  const done = new Set<string>();
  function visit(file: string, trail: string[]): string[] | null {
    if (trail.includes(file)) return [...trail.slice(trail.indexOf(file)), file];
    if (done.has(file)) return null;
    done.add(file);
    for (const target of targets.get(file) ?? []) {
      const circle = visit(target, [...trail, file]);
      if (circle) return circle;
    }
    return null;
  }
  for (const file of targets.keys()) {
    const circle = visit(file, []);
    if (circle) return circle;
  }
  return null;
}
