import { describe, expect, it } from 'vitest';
import { commands } from '../../../client/cli/commands.ts';
import { dataOf } from '../../../client/cli/commands/values.ts';
import { checkOperands, readArguments } from '../../../client/cli/frame/arguments.ts';
import { command } from '../../../client/cli/frame/command.ts';
import { Failure, shownError } from '../../../client/cli/frame/failure.ts';
import { commandHelp, programHelp } from '../../../client/cli/frame/help.ts';
import { Output } from '../../../client/cli/frame/output.ts';
import { projectOf, serverUrl } from '../../../client/cli/frame/profiles.ts';
import { parseSettings } from '../../../client/cli/frame/settings.ts';
import { escapeControls, jsonText, red, render } from '../../../client/cli/frame/text.ts';
import { EverpostError } from '../../../client/everpost.ts';

/** Returns the failure of a call. */
function failureOf(call: () => unknown): Failure {
  try {
    call();
  } catch (error) {
    if (error instanceof Failure) return error;
    throw error;
  }
  throw new Error('It did not fail.');
}

const sample = command({
  name: 'sample',
  operands: [{ name: 'file' }, { name: 'other', isOptional: true }],
  summary: 'Do something',
  options: {
    prune: { type: 'string', isValueOptional: true, value: 'PATTERNS', summary: 'Remove' },
    data: { type: 'string', multiple: true, summary: 'Data' },
    migrate: { type: 'string', choices: ['none', 'auto'], summary: 'Move' },
    yes: { type: 'boolean', summary: 'Do not ask' },
  },
  example: 'everpost sample x',
  run: async () => {},
});

describe('the arguments of a command', () => {
  it('are options in any order, and words', () => {
    const { options, operands } = readArguments(sample, [
      'a.csv',
      '--prune',
      '--data',
      'x=1',
      '--data=y=-2',
      '--yes',
      'b',
      '--',
      '--json',
    ]);
    expect(operands).toEqual(['a.csv', 'b', '--json']);
    expect(options).toMatchObject({ prune: '', data: ['x=1', 'y=-2'], yes: true, json: false });
    expect(readArguments(sample, ['--prune=template/*']).options['prune']).toBe('template/*');
  });

  it.each([
    [['--prun'], 'sample has no option --prun. Did you mean --prune?'],
    [['-x'], 'sample has no option -x.'],
    [['--yes=1'], '--yes takes no value.'],
    [['--data'], '--data needs a value.'],
    [['--dir', '--json'], '--dir needs a value.'],
    [['--migrate', 'autos'], '--migrate is one of none, auto. Did you mean auto?'],
    [['--json', '--text'], 'Choose one of --json and --text.'],
  ])('refuse %j with the exit code 2', (words, message) => {
    const failure = failureOf(() => readArguments(sample, words));
    expect(failure.exitCode).toBe(2);
    expect(failure.message).toContain(message);
  });

  it('refuse missing words and words too many', () => {
    expect(failureOf(() => checkOperands(sample, [])).message).toContain('needs <file>');
    expect(failureOf(() => checkOperands(sample, ['a', 'b', 'c'])).message).toContain('"c"');
  });
});

describe('the help', () => {
  it('lists every command', () => {
    const text = programHelp(commands).map((line) => render(line, false));
    for (const { name } of commands) expect(text.join('\n')).toContain(`\n  ${name} `);
  });

  it.each(commands.map((each) => [each.name, each] as const))(
    'of %s has what it does, its options and an example',
    (name, declared) => {
      const text = commandHelp(declared)
        .map((line) => render(line, false))
        .join('\n');
      expect(text).toContain(`Usage: everpost ${name}`);
      for (const option of Object.keys(declared.options)) expect(text).toContain(`--${option}`);
      expect(declared.example).toMatch(new RegExp(`^everpost ${name}\\b`));
      expect(text.split('\n').filter((line) => line.length > 120)).toEqual([]);
    },
  );
});

describe('text', () => {
  it('shows control characters as escapes, also in styled parts', () => {
    expect(escapeControls('a\u001b[31mb\u0007\u009b\t\n\r')).toBe('a\\x1b[31mb\\x07\\x9b\t\n\\x0d');
    expect(escapeControls('\u202etxt.exe')).toBe('\\u202etxt.exe');
    expect(render(red('x\u001b[0m'), true)).toBe('\u001b[31mx\\x1b[0m\u001b[0m');
    expect(render(red('x'), false)).toBe('x');
    expect(JSON.parse(jsonText('\u009b\u001b'))).toBe('\u009b\u001b');
    expect(jsonText('\u009b\u001b')).toBe('"\\u009b\\u001b"');
  });
});

/** Creates an output that records what is written. */
function recorded(options: { format?: 'json' | 'text'; isTTY?: boolean; noColor?: string }) {
  const written = { out: '', err: '' };
  const stream = (name: 'out' | 'err') => ({
    isTTY: options.isTTY ?? false,
    write: (text: string) => (written[name] += text),
  });
  const output = new Output({
    format: options.format,
    env: { NO_COLOR: options.noColor },
    stdout: stream('out'),
    stderr: stream('err'),
  });
  return { output, written };
}

describe('the output', () => {
  it.each([
    [{ isTTY: true }, 'done\n'],
    [{ isTTY: false }, '{\n  "a": 1\n}\n'],
    [{ isTTY: true, format: 'json' as const }, '{\n  "a": 1\n}\n'],
    [{ isTTY: false, format: 'text' as const }, 'done\n'],
  ])('is text on a terminal, else JSON, unless chosen: %j', (options, expected) => {
    const { output, written } = recorded(options);
    output.result({ a: 1 }, () => ['done']);
    expect(written).toEqual({ out: expected, err: '' });
  });

  it('has colours only on a terminal without NO_COLOR', () => {
    const shown = (options: Parameters<typeof recorded>[0]) => {
      const { output, written } = recorded(options);
      output.note(red('x'));
      return written.err;
    };
    expect(shown({ isTTY: true })).toBe('\u001b[31mx\u001b[0m\n');
    expect(shown({ isTTY: true, noColor: '1' })).toBe('x\n');
    expect(shown({})).toBe('x\n');
  });

  it('is an error with its fields as one JSON document, if asked for', () => {
    const { output, written } = recorded({ format: 'json' });
    const errors = [{ field: 'to', message: 'Must be there.', code: 'required' }];
    const error = new EverpostError('Not valid.', {
      code: 'VALIDATION_ERROR',
      status: 422,
      requestId: 'r1',
      errors,
    });
    output.error(shownError(error));
    expect(JSON.parse(written.err)).toEqual({
      error: {
        code: 'VALIDATION_ERROR',
        message: 'Not valid.',
        status: 422,
        requestId: 'r1',
        errors,
      },
    });
    expect(written.out).toBe('');
  });
});

describe('an error', () => {
  const key = 'sk_0123456789';
  const repeated = new EverpostError(`No ${key}.`, {
    code: 'FORBIDDEN',
    status: 403,
    requestId: key,
    details: { given: [key] },
    suggestion: `Do not use ${key}.`,
    errors: [{ field: key, message: key, code: 'custom' }],
  });

  it.each(['json', 'text'] as const)('shows no key that the server repeats, as %s', (format) => {
    const { output, written } = recorded({ format });
    output.error(shownError(repeated));
    expect(written.err).toContain('sk_•••');
    expect(written.err).not.toContain(key);
  });

  it('of the file system ends with 2', () => {
    const error = Object.assign(new Error("EPERM: operation not permitted, open '/x'"), {
      syscall: 'open',
    });
    const { exitCode, code, message } = shownError(error);
    expect([exitCode, code, message]).toEqual([2, 'UNREADABLE_FILE', error.message]);
    expect(() => shownError(new TypeError('A defect.'))).toThrow('A defect.');
  });
});

describe('words such as total=42', () => {
  it('are read as numbers, booleans and JSON', () => {
    const words = ['a=5', 'b=-1.5', 'c=true', 'd=null', 'e={"x":[1]}', 'f=2026-01-02', 'g=x=y'];
    expect(dataOf(words)).toEqual({
      a: 5,
      b: -1.5,
      c: true,
      d: null,
      e: { x: [1] },
      f: '2026-01-02',
      g: 'x=y',
    });
  });

  it('keep all digits of a number', () => {
    expect(dataOf(['order=12345678901234567890', 'n=1e999', 'm=9007199254740991'])).toEqual({
      order: '12345678901234567890',
      n: '1e999',
      m: 9_007_199_254_740_991,
    });
    const failure = failureOf(() => dataOf(['order={"id":12345678901234567890}']));
    expect([failure.exitCode, failure.message]).toEqual([2, expect.stringContaining('"order"')]);
  });
});

describe('the exit code of an error', () => {
  it.each([
    [0, 4],
    [200, 4],
    [302, 1],
    [401, 5],
    [403, 5],
    [404, 1],
    [422, 1],
    [500, 4],
    [503, 4],
  ])('with the status %i is %i', (status, exitCode) => {
    const error = new EverpostError('No.', { code: 'UNEXPECTED_ANSWER', status });
    expect(shownError(error).exitCode).toBe(exitCode);
  });
});

describe('everpost.yaml', () => {
  it('has patterns, variables, profiles and the project of the tests', () => {
    const settings = parseSettings(
      'only: [template/*]\nvariables: {FROM: a@shop.example}\n' +
        'profiles:\n  production: {url: https://mail.example.com, variables: {FROM: b@shop.example}}\n' +
        'project: {name: Shop, language: de}\n',
    );
    expect(settings).toEqual({
      only: ['template/*'],
      protect: [],
      variables: { FROM: 'a@shop.example' },
      profiles: {
        production: { url: 'https://mail.example.com', variables: { FROM: 'b@shop.example' } },
      },
      project: { name: 'Shop', language: 'de' },
    });
    expect(parseSettings('').profiles).toEqual({});
  });

  it('names all its mistakes', () => {
    const text = 'onlly: []\nprotect: [news]\nvariables: {from: x, A: 1}\nprofiles: {a: {ur: x}}\n';
    const { exitCode, errors } = failureOf(() => parseSettings(text));
    expect(exitCode).toBe(2);
    expect(errors.map(({ field }) => field).toSorted()).toEqual([
      'onlly',
      'profiles.a.ur',
      'protect.0',
      'variables.A',
      'variables.from',
    ]);
  });

  it.each([
    'profiles: {a: {url: https://x.example, key: abc}}',
    'variables: {TOKEN: sk_0123456789}',
    '# sk_0123456789\nonly: []',
  ])('with a key in it is refused, without showing the key: %s', (text) => {
    const failure = failureOf(() => parseSettings(text));
    expect([failure.exitCode, failure.message]).toEqual([
      2,
      expect.stringContaining('contains a key'),
    ]);
    expect(failure.message).not.toContain('0123456789');
  });

  it.each(['a: [', 'a: 1\na: 2', 'only: &x [topic/*]\nprotect: *x'])(
    'that cannot be read is refused: %j',
    (text) => {
      expect(failureOf(() => parseSettings(text)).exitCode).toBe(2);
    },
  );
});

describe('the project of a profile', () => {
  const settings = parseSettings('profiles: {live: {url: "https://live.example/"}}');
  const stored = {
    default: { url: 'https://one.example', key: 'sk_1' },
    live: { url: 'https://live.example', key: 'sk_2' },
    moved: { url: 'https://old.example', key: 'sk_3' },
  };
  const find = (profile: string, env: Record<string, string> = {}) =>
    projectOf(profile, { env, settings, stored });

  it('is what login stored, unless the environment or everpost.yaml says otherwise', () => {
    expect(find('default')).toMatchObject({ url: 'https://one.example', key: 'sk_1' });
    expect(find('live')).toMatchObject({ url: 'https://live.example', key: 'sk_2' });
    const env = { EVERPOST_URL: 'http://127.0.0.1:8080', EVERPOST_KEY: 'sk_4' };
    expect(find('default', env)).toMatchObject({ url: 'http://127.0.0.1:8080', key: 'sk_4' });
    const named = { EVERPOST_MY_SHOP_URL: 'https://b.example', EVERPOST_MY_SHOP_KEY: 'sk_5' };
    expect(find('my-shop', named)).toMatchObject({ url: 'https://b.example', key: 'sk_5' });
  });

  it('is refused where a stored key would go to another url', () => {
    const failure = failureOf(() => find('moved', { EVERPOST_MOVED_URL: 'https://evil.example' }));
    expect([failure.exitCode, failure.code]).toEqual([2, 'URL_CHANGED']);
    expect(failure.message).not.toContain('sk_3');
  });

  it.each(['nowhere', 'constructor'])('is refused without a key: %s', (profile) => {
    const failure = failureOf(() => find(profile));
    expect([failure.exitCode, failure.code]).toEqual([2, 'NO_CREDENTIALS']);
  });

  it('has the address of a server as its url', () => {
    expect(serverUrl('HTTPS://Mail.Example.com/')).toBe('https://mail.example.com');
    for (const wrong of [
      'sk_secret',
      'file:///etc',
      'https://a:b@x.example',
      'mail.shop.example',
    ]) {
      expect(failureOf(() => serverUrl(wrong)).message).not.toContain(wrong);
    }
  });
});
