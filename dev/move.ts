import { createReadStream } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { readCell } from '../domain/contact/csv.ts';
import { readCsvLines } from '../domain/contact/csv-lines.ts';
import { readStackFile } from './servers/stack-file.ts';

/**
 * `npm run move`: imports the contacts of another platform from its CSV export, through the public
 * API. An import may be repeated, because contacts are found by their address, and contacts that
 * have opted out in the meantime are not subscribed again.
 */

const usage = `Usage: npm run move -- plunk|listmonk FILE [--dry-run]

Creates or updates the contacts of a CSV file that Plunk or Listmonk has exported. It can be
repeated. The environment variable SECRET_KEY is the secret key of a project; API_URL is the
address of the API, unless "npm start" runs here.

  --dry-run   Print the contacts and send nothing
  --help      Print this text`;

/** Body of a request to `POST /contacts`. */
interface Contact {
  email: string;
  /** Absent: a new contact is subscribed, and an existing contact does not change. */
  subscribed?: false;
  data: Record<string, unknown>;
}

type Cells = Record<string, string>;

/** Maximum number of concurrent requests. */
const parallelism = 4;
const attemptsMax = 6;

/** The meaning of the columns of each platform. All other columns are data. */
const platforms: Record<string, { toContact(cells: Cells): Contact; dropped: string[] }> = {
  /**
   * Columns: `email`, `subscribed`, and a column for each data field, or `data` with a JSON object.
   */
  plunk: {
    dropped: ['id', 'createdAt', 'updatedAt', 'projectId'],
    toContact: ({ email = '', subscribed = '', ...rest }) =>
      contactOf(email, !/^(false|0|no)$/i.test(subscribed), dataOf(rest, ['data'])),
  },
  /**
   * Columns: `uuid,email,name,attributes,status,created_at,updated_at`; `attributes` is a JSON
   * object.
   */
  listmonk: {
    dropped: ['uuid', 'created_at', 'updated_at'],
    toContact: ({ email = '', status = '', ...rest }) =>
      contactOf(email, status === '' || status === 'enabled', dataOf(rest, ['attributes'])),
  },
};

function contactOf(email: string, isSubscribed: boolean, data: Contact['data']): Contact {
  return { email, ...(isSubscribed ? {} : { subscribed: false }), data };
}

/**
 * Returns the cells as values of data. A cell in a column of `objects` is a JSON object, whose keys
 * become keys of data.
 * @throws SyntaxError when such a cell is not a JSON object.
 */
function dataOf(cells: Cells, objects: string[]): Contact['data'] {
  const values = Object.entries(cells).flatMap(([name, cell]): [string, unknown][] => {
    if (cell === '') return [];
    return objects.includes(name)
      ? Object.entries(objectOf(name, cell))
      : [[name, readCell(name, cell)]];
  });
  return Object.fromEntries(values);
}

function objectOf(name: string, cell: string): object {
  const value = jsonOf(cell);
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value;
  throw new SyntaxError(`The cell "${name}" is not a JSON object.`);
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

interface Row {
  /** The line of the file at which the row begins, from 1. */
  line: number;
  contact: Contact;
}

/**
 * Yields the rows of an exported file, in order. `refuse` is called for rows that cannot be read.
 */
async function* readRows(
  file: string,
  { toContact, dropped }: (typeof platforms)[string],
  refuse: (line: number, reason: string) => void,
): AsyncGenerator<Row, void, undefined> {
  let names: string[] | null = null;
  for await (const lines of readCsvLines(createReadStream(file))) {
    for (const { line, cells, fault } of lines) {
      const trimmed = cells.map((cell) => cell.trim());
      if (names === null) {
        if (fault !== null) throw new Error(fault);
        if (!trimmed.includes('email')) {
          const found = trimmed.join(', ');
          throw new Error(
            `The first line must name a column "email". It names ${found}; columns are separated by commas.`,
          );
        }
        names = trimmed;
        continue;
      }
      if (fault !== null) {
        refuse(line, fault);
        continue;
      }
      try {
        const given = names.map((name, at) => [name, trimmed[at] ?? ''] as const);
        const kept = given.filter(([name]) => !dropped.includes(name));
        yield { line, contact: toContact(Object.fromEntries(kept)) };
      } catch (error) {
        if (!(error instanceof SyntaxError)) throw error;
        refuse(line, error.message);
      }
    }
  }
}

/**
 * Sends a contact. Repeats the request after temporary errors.
 * @returns the result, or the reason why the API refuses the contact.
 * @throws Error when the API accepts no contacts at all.
 */
async function send(
  contact: Contact,
  { api, key }: { api: string; key: string },
): Promise<'created' | 'updated' | { refused: string }> {
  for (let attempt = 1; ; attempt++) {
    const answer = await fetch(`${api}/contacts`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify(contact),
      signal: AbortSignal.timeout(30_000),
    }).catch((error: unknown) => new Error(`${api} does not answer: ${String(error)}`));
    if (!(answer instanceof Error)) {
      if (answer.ok) return answer.status === 201 ? 'created' : 'updated';
      const { error } = (await answer.json()) as {
        error: { message: string; errors?: { field: string; message: string }[] };
      };
      const reason = error.errors?.map(({ field, message }) => `${field}: ${message}`).join(' ');
      if (answer.status === 401 || answer.status === 403) throw new Error(error.message);
      if (answer.status !== 429 && answer.status < 500) return { refused: reason ?? error.message };
      if (answer.status === 429) {
        // A rate limit is not a failure of this request, so the attempts start again.
        attempt = 0;
        await sleep(Number(answer.headers.get('retry-after') ?? 1) * 1000);
        continue;
      }
    }
    if (attempt === attemptsMax) {
      throw answer instanceof Error ? answer : new Error(`${api} answers ${answer.status}.`);
    }
    await sleep(2 ** attempt * 250);
  }
}

async function main(): Promise<void> {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: { 'dry-run': { type: 'boolean', default: false }, help: { type: 'boolean' } },
  });
  const [name = '', file] = positionals;
  const platform = Object.hasOwn(platforms, name) ? platforms[name] : undefined;
  if (values.help) return console.log(usage);
  if (!platform || file === undefined) throw new Error(usage);

  const stack = await readStackFile(process.env['EVERPOST_DATA_DIR'] ?? './var');
  const api = process.env['API_URL'] ?? stack?.apiUrl;
  const key = process.env['SECRET_KEY'];
  if (!values['dry-run'] && !api) {
    throw new Error('Everpost does not run here. Run "npm start" first, or set API_URL.');
  }
  if (!values['dry-run'] && !key) throw new Error(`SECRET_KEY is not set.\n\n${usage}`);

  const counts = { created: 0, updated: 0, refused: 0 };
  const refuse = (line: number, reason: string) => {
    counts.refused += 1;
    console.error(`Line ${line}: ${reason}`);
  };
  const rows = readRows(file, platform, refuse);
  const work = async () => {
    for await (const { line, contact } of rows) {
      if (values['dry-run']) console.log(JSON.stringify(contact));
      else {
        const outcome = await send(contact, { api: api ?? '', key: key ?? '' });
        if (typeof outcome === 'object') refuse(line, outcome.refused);
        else counts[outcome] += 1;
      }
    }
  };
  await Promise.all(Array.from({ length: parallelism }, work));
  const { created, updated, refused } = counts;
  if (!values['dry-run']) console.log(`${created} created, ${updated} updated, ${refused} refused`);
  if (refused > 0) process.exitCode = 1;
}

try {
  await main();
} catch (error) {
  console.error(error instanceof Error ? error.message : String(error));
  process.exit(1);
}
