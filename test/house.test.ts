import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { bundleWorkflows } from '../worker/bundle.ts';

/** Rules of the code that no linter checks. */

const root = path.join(import.meta.dirname, '..');
const tracked = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard'], {
  cwd: root,
  encoding: 'utf8',
})
  .split('\n')
  .filter((file) => file !== '');
const generated = new Set(['db/tables.ts', 'client/api.ts']);
const read = (file: string) => readFileSync(path.join(root, file), 'utf8');
const code = tracked.filter((file) => /\.tsx?$/.test(file) && !generated.has(file));
const self = 'test/house.test.ts';

/** Banned words, the files where they are allowed, and what to use instead. */
const banned: { word: RegExp; except: RegExp; instead: string }[] = [
  {
    word: /process\.env/,
    except: /^(dev|test|bench)\/|^((api|worker|db|ops|client\/cli)\/main|api\/break-glass)\.ts$/,
    instead: 'a setting of config.ts',
  },
  { word: /\bas any\b|@ts-ignore|@ts-nocheck/, except: /^$/, instead: 'a type' },
  { word: /\b(it|test|describe)\.(only|skip|todo)\b/, except: /^$/, instead: 'a test that runs' },
  { word: /\b(TODO|FIXME|XXX)\b/, except: /^$/, instead: 'the finished thing' },
  {
    word: /\bDate\.now\(\)|\bnew Date\(\)|\bMath\.random\(\)/,
    except: /^(?!domain\/)/,
    instead: 'an argument',
  },
  {
    // A version that runs must not read columns of a later version.
    word: /\b(selectAll|returningAll)\(|\b(select|returning) \*|(select|,) \w+\.\*/,
    except: /^(?!db\/|api\/|activities\/|worker\/)/,
    instead: 'columnsOf',
  },
  { word: /^(export )?const [A-Z][A-Z0-9_]{2,}\b/, except: /^$/, instead: 'camelCase' },
  {
    word: /\.transaction\(\)/,
    except: /^(test\/|db\/database\.ts$)/,
    instead: 'transact',
  },
  {
    // The services are inherited, so a copy does not have them.
    word: /\bhandle\(\{.*\.\.\.\w+ \}\)|\{ \.\.\.call\b/,
    except: /^(?!api\/)/,
    instead: 'handle(call), and hand on the call itself',
  },
  {
    // PostgreSQL's greatest ignores nulls: a missing time becomes 0, and a run would never rest.
    word: /greatest\(\s*0\s*,/,
    except: /^db\/expressions\.ts$/,
    instead: 'millisecondsUntil',
  },
];

describe('the code', () => {
  it.each(banned)('has no $word but where it belongs: write $instead', ({ word, except }) => {
    const places = code
      .filter((file) => file !== self && !except.test(file))
      .flatMap((file) =>
        read(file)
          .split('\n')
          .flatMap((line, index) => (word.test(line) ? [`${file}:${index + 1}: ${line}`] : [])),
      );
    expect(places).toEqual([]);
  });

  it('puts a raw condition with "or" in parentheses: Kysely joins conditions by "and"', () => {
    const conditions = code.flatMap((file) =>
      [...read(file).matchAll(/\.where\(\s*sql(?:<\w+>)?`([^`]*)`/g)].map(([, text = '']) => ({
        file,
        text,
      })),
    );
    const isBare = (text: string): boolean => {
      const without = text.replaceAll(/\([^()]*\)/g, '');
      return without === text ? /\bor\b/.test(text) : isBare(without);
    };
    expect(conditions.filter(({ text }) => isBare(text))).toEqual([]);
  });

  it('explains itself in plain sentences, also in the names of tests', () => {
    const sources = tracked.filter((file) => /\.(tsx?|sql)$/.test(file) && !generated.has(file));
    // Such a beginning makes a comment hard to read.
    const opener =
      /^\s*(\/\*\*|\*|\/\/|--) *(What|Of|Whether|Where|Whoever|That|Likewise|Somebody|Nobody|Told)\b/;
    const vague =
      /(^\s*(\/\*\*|\*|\/\/|--) |\b(it|describe)\b[^']*').*\b([Ss]omebody|[Nn]obody|[Ww]hoever)\b(?![@.]\w)/;
    const places = sources
      .filter((file) => file !== self && !file.startsWith('test/golden/'))
      .flatMap((file) =>
        read(file)
          .split('\n')
          .flatMap((line, index) =>
            opener.test(line) || vague.test(line) ? [`${file}:${index + 1}: ${line}`] : [],
          ),
      );
    expect(places).toEqual([]);
  });

  it('has kebab-case file names', () => {
    expect(code.filter((file) => !/^[a-z0-9/.-]+$/.test(file))).toEqual([]);
  });
});

describe('the database', () => {
  const migrations = readdirSync(path.join(root, 'db/migrations')).sort();
  const sql = migrations.map((file) => read(`db/migrations/${file}`)).join('\n');

  /**
   * The last schema file of the last release (RELEASES.md). Until the first one, files change in
   * place.
   */
  const lastReleased: string = '';
  /**
   * Later files, which run beside processes of the release: docs/upgrading.md. `code`: without
   * comments.
   */
  const expanding = migrations
    .filter((file) => lastReleased !== '' && file > lastReleased)
    .map((file) => {
      const text = read(`db/migrations/${file}`);
      return { file, text, code: text.replaceAll(/--.*$/gm, '') };
    });

  it('numbers its migrations without gaps', () => {
    const numbers = migrations.map((file) => /^(\d{4})-[a-z0-9-]+\.sql$/.exec(file)?.[1]);
    expect(numbers).toEqual(migrations.map((_, index) => String(index + 1).padStart(4, '0')));
  });

  it('only adds: processes of the last release run beside the new ones', () => {
    const removes = [
      /drop (table|column|view|type|function)\b/,
      /\brename\b/,
      /alter column \w+ (set data )?type\b/,
      /alter column \w+ set not null/,
      /add column (?![^,;]*\bdefault\b)[^,;]*\bnot null\b/,
    ];
    const breaking = expanding
      .filter(({ text }) => !/^-- contract: \S/m.test(text))
      .flatMap(({ file, code }) =>
        removes.flatMap((rule) => (rule.test(code) ? [`${file}: ${rule.exec(code)![0]}`] : [])),
      );
    expect(breaking).toEqual([]);
  });

  it('builds an index of an existing table beside the requests, and can do so again', () => {
    const blocking = expanding.flatMap(({ file, code }) =>
      [...code.matchAll(/create (?:unique )?index (concurrently )?(\w+)\s+on (\w+)/g)]
        .filter(([, concurrently, index, on]) =>
          concurrently
            ? !code.includes(`drop index concurrently if exists ${index};`)
            : !new RegExp(`create (unlogged )?table ${on}\\b`).test(code),
        )
        .map(([, , index]) => `${file}: ${index}`),
    );
    expect(blocking).toEqual([]);
    const untransacted = expanding.filter(({ text }) => text.startsWith('-- no transaction\n'));
    // A semicolon at the end of a line separates statements.
    expect(untransacted.filter(({ code }) => code.includes('$$'))).toEqual([]);
  });

  it('gives every table a project, or a reason', () => {
    const without = {
      account_token: 'belongs to a user',
      break_glass: 'belongs to a user',
      factor: 'belongs to a user',
      pending_sign_in: 'belongs to a user',
      recovery_code: 'belongs to a user',
      used_challenge: 'is a hash, kept for minutes',
      session: 'belongs to a user',
      security_event: 'an account’s own events belong to no project',
      body_retention: 'one row: how far the sweep has come',
      app_user: 'a user may belong to many projects',
      project: 'is the project',
      idempotency: 'belongs to a project or to a user',
      rate_limit: 'keyed by scope',
      provider_circuit: 'one row for each mail provider',
      worker_process: 'workers work for all projects',
      outbox: 'mail to a user belongs to no project',
      watermark: 'how far work for the whole server has come',
      payment_receipt: 'the payment provider tells of customers',
      system_mail: 'mail to a user belongs to no project',
      database_cluster: 'is about all tables',
      installation: 'is about the whole server',
      restore: 'is about the whole server',
      restore_loss: 'belongs to its restore',
      domain_key: 'belongs to its domain',
      event_subscription_minute: 'belongs to its subscription',
      ramp_period: 'belongs to its ramp',
      ramp_mail: 'belongs to its ramp',
      identity: 'belongs to a user',
      ses_identity: 'an identity goes with the last of all projects that claim it',
      report_receipt: 'comes before anybody knows whose it is',
      suppression: 'belongs to the public id of a project, which a reset keeps',
      suppression_key: 'belongs to the public id of a project, which a reset keeps',
      erasure: 'belongs to the public id of a project, which a reset keeps',
      upload: 'belongs to the public id of a project, which a reset keeps',
      upload_usage: 'belongs to the public id of a project, which a reset keeps',
      request_log: 'belongs to the public id of a project, which a reset keeps',
      request_log_count: 'belongs to the public id of a project, which a reset keeps',
      token_bucket: 'keyed by scope',
      usage_report: 'what was sent is billed, whatever becomes of the project',
      provider_message: 'goes with its message, which has a project',
      late_mail: 'goes with its message, which has a project',
      email_link: 'goes with its message, which has a project',
      link_tally: 'belongs to a link, which has a project',
      mailbox_message: 'a developer’s mailbox shows the mail of all projects',
    };
    const tables = [...sql.matchAll(/create (?:unlogged )?table (\w+) \(([\s\S]*?)\n\)/g)];
    expect(tables.length).toBeGreaterThan(15);
    const missing = tables
      .filter(([, , columns]) => !/\n {2}project_id uuid not null/.test(columns!))
      .map(([, name]) => name);
    expect(missing.filter((name) => !Object.hasOwn(without, name!))).toEqual([]);
  });

  it('says of every table what it is', () => {
    const tables = [...sql.matchAll(/create (?:unlogged )?table (\w+) \(/g)].map(
      ([, name]) => name,
    );
    const commented = new Set(
      [...sql.matchAll(/comment on table (\w+) is/g)].map(([, name]) => name),
    );
    expect(tables.filter((name) => !commented.has(name))).toEqual([]);
  });

  it('has every table in the data model', () => {
    const text = read('docs/data-model.md');
    const tables = [...sql.matchAll(/create (?:unlogged )?table (\w+) \(/g)].map(
      ([, name]) => name,
    );
    expect(tables.length).toBeGreaterThan(15);
    expect(tables.filter((name) => !text.includes(`**\`${name}\`**`))).toEqual([]);
  });
});

describe('the workflow bundle', () => {
  // Bundling takes a second on an idle machine, and longer on a busy one.
  it('holds workflow code and rules, nothing that touches the world', async () => {
    const { code: bundle } = await bundleWorkflows();
    const modules = [...bundle.matchAll(/^\/\*{3}\/ "([^"]+)"/gm)].map(([, name]) => name!);
    const own = modules.filter((name) => /^\.\/(?!node_modules)/.test(name));
    expect(own).toContain('./workflows/execution.ts');
    expect(own.filter((name) => !/^\.\/(workflows|domain)\//.test(name))).toEqual([]);
    expect(own.filter((name) => /\/(client|dispatcher)\.ts$/.test(name))).toEqual([]);
    const packages = modules
      .filter((name) => name.includes('node_modules/'))
      .map((name) => /.*node_modules\/(@[^/]+\/[^/]+|[^/]+)/.exec(name)?.[1]);
    const known = ['@temporalio/common', '@temporalio/workflow', 'nexus-rpc', 'ms', 'long'];
    expect([...new Set(packages)].toSorted()).toEqual(known.toSorted());
    // 1.6 MB without zod, 2.7 MB with it.
    expect(bundle.length).toBeLessThan(2_000_000);
  });

  it('is built with one version of Temporal and one copy of protobufjs for it', () => {
    const { packages } = JSON.parse(read('package-lock.json')) as {
      packages: Record<string, { version: string }>;
    };
    const versions = (pattern: RegExp) =>
      new Set(
        Object.entries(packages)
          .filter(([name]) => pattern.test(name))
          .map(([, { version }]) => version),
      );
    expect(versions(/@temporalio\/(client|worker|workflow|activity|common|proto)$/).size).toBe(1);
    // A second copy below @temporalio breaks replaying histories from JSON.
    const copies = Object.keys(packages).filter((name) =>
      /@temporalio\/.*node_modules\/protobufjs$/.test(name),
    );
    expect(copies).toEqual([]);
  });
});

describe('the packages', () => {
  const { packages } = JSON.parse(read('package-lock.json')) as {
    packages: Record<string, { integrity?: string; resolved?: string; hasInstallScript?: boolean }>;
  };
  const installed = Object.entries(packages).filter(([place]) => place !== '');

  it('are pinned by their content, not by the word of a registry', () => {
    expect(installed.length).toBeGreaterThan(500);
    const loose = installed.filter(([, { integrity }]) => !integrity?.startsWith('sha512-'));
    expect(loose.map(([place]) => place)).toEqual([]);
    const elsewhere = installed.filter(
      ([, { resolved }]) => resolved && !resolved.startsWith('https://registry.npmjs.org/'),
    );
    expect(elsewhere.map(([place]) => place)).toEqual([]);
  });

  it('run no script when installed unless it is allowed', () => {
    const { allowScripts } = JSON.parse(read('package.json')) as {
      allowScripts: Record<string, boolean>;
    };
    const undecided = installed
      .filter(([, { hasInstallScript }]) => hasInstallScript)
      .map(([place]) => place.replace(/.*node_modules\//, ''))
      .filter((name) => allowScripts[name] === undefined);
    expect(undecided).toEqual([]);
  });
});

describe('the documents', () => {
  const pages = tracked.filter((file) => file.endsWith('.md'));

  it('have one title each', () => {
    const titles = (text: string) =>
      text.replaceAll(/```[\s\S]*?```/g, '').match(/^# .+$/gm)?.length;
    expect(pages.filter((file) => titles(read(file)) !== 1)).toEqual([]);
  });

  it('keep the README to 120 lines', () => {
    expect(read('README.md').split('\n').length).toBeLessThanOrEqual(120);
  });

  it('have no line of a table over 160 characters: long cells are lists or sections', () => {
    const wide = pages.flatMap((file) =>
      read(file)
        .split('\n')
        .flatMap((line, index) =>
          /^\s*\|/.test(line) && line.length > 160 ? [`${file}:${index + 1}`] : [],
        ),
    );
    expect(wide).toEqual([]);
  });

  it('name who acts', () => {
    const vague = /\b([Ss]omebody|[Ww]hoever)\b|\b[Nn]obody\b(?![@"])/;
    const places = pages.flatMap((file) =>
      read(file)
        .split('\n')
        .flatMap((line, index) => (vague.test(line) ? [`${file}:${index + 1}: ${line}`] : [])),
    );
    expect(places).toEqual([]);
  });

  it('name every folder of the code in CONTRIBUTING.md', () => {
    const rooms = readdirSync(root, { withFileTypes: true })
      .filter((entry) => entry.isDirectory() && tracked.some((f) => f.startsWith(`${entry.name}/`)))
      .map((entry) => entry.name)
      .filter((name) => !name.startsWith('.'));
    const named = [...read('CONTRIBUTING.md').matchAll(/^\| `(\w+)\/` +\|/gm)].map(
      ([, name]) => name,
    );
    expect(named.toSorted()).toEqual(rooms.toSorted());
  });
});
