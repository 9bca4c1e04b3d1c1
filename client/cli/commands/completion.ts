import { resolve } from 'node:path';
import { fileKinds, parseFilePath } from '../../../domain/files/kinds.ts';
import { keysOf, listFiles } from '../folder/local-files.ts';
import {
  type Call,
  type Command,
  command,
  commonOptions,
  type Offer,
  type Option,
} from '../frame/command.ts';
import { readStored } from '../frame/credentials.ts';
import { readSettings } from '../frame/settings.ts';
import { scripts } from './completion-scripts.ts';

/** Writes the script that completes words in a shell, or the words that the script asks for. */
export const completion = command({
  name: 'completion',
  operands: [
    { name: 'shell', choices: Object.keys(scripts) },
    { name: 'word', isOptional: true, isMany: true },
  ],
  summary: 'Write the script that completes commands in bash, zsh or fish',
  description:
    'It completes commands, options, profiles and the keys of the files. It asks no server.',
  options: {
    words: { type: 'boolean', summary: 'List the words that can follow; for the script' },
  },
  example: 'everpost completion bash >> ~/.bashrc',
  async run(call) {
    const [shell, ...words] = call.operands as [keyof typeof scripts, ...string[]];
    if (!call.options.words) return call.output.raw(scripts[shell]);
    // A mistake in a file must not disturb the shell.
    const found = await candidates(call, words).catch(() => []);
    call.output.raw(found.map((word) => `${word}\n`).join(''));
  },
});

/**
 * Returns the words that can replace the last one.
 * @param words the words after the name of the program
 */
async function candidates(call: Call, words: readonly string[]): Promise<string[]> {
  const [name = '', ...rest] = words;
  const last = rest.at(-1);
  const found =
    last === undefined
      ? [...call.commands.map((each) => each.name), 'help', '--help', '--version']
      : await candidatesOf(call, name, rest);
  return found.filter((word) => word.startsWith(last ?? name)).toSorted();
}

async function candidatesOf(call: Call, name: string, rest: readonly string[]): Promise<string[]> {
  const found = call.commands.find((each) => each.name === name);
  if (!found) return name === 'help' ? call.commands.map((each) => each.name) : [];
  const options: Record<string, Option> = { ...found.options, ...commonOptions };
  const [before, last] = [rest.at(-2), rest.at(-1)!];
  const dir = resolve(call.cwd, rest[rest.indexOf('--dir') + 1] ?? '.');
  const folder = { ...call, dir: rest.includes('--dir') ? dir : call.dir };
  const inline = /^--([a-z-]+)=/.exec(last);
  if (inline) {
    const values = await valuesOf(folder, options[inline[1]!]);
    return values.map((value) => inline[0] + value);
  }
  const option = before?.startsWith('--') ? options[before.slice(2)] : undefined;
  if (option?.type === 'string' && !option.isValueOptional) return valuesOf(folder, option);
  if (last.startsWith('-')) return Object.keys(options).map((each) => `--${each}`);
  return valuesOf(folder, operandOf(found, options, rest));
}

/** Returns the operand that the last word is. */
function operandOf(
  { operands }: Command,
  options: Record<string, Option>,
  rest: readonly string[],
) {
  const given = rest.filter((word, at) => {
    const before = rest[at - 1];
    const option = before?.startsWith('--') ? options[before.slice(2)] : undefined;
    const isValue = option?.type === 'string' && !option.isValueOptional;
    return !word.startsWith('-') && !isValue;
  });
  return operands[given.length - 1];
}

type Folder = Pick<Call, 'dir' | 'env'>;

async function valuesOf(
  folder: Folder,
  of: Pick<Option, 'choices' | 'offers'> | undefined,
): Promise<string[]> {
  const words = of?.choices ?? of?.offers ?? [];
  return typeof words === 'string' ? offers[words](folder) : [...words];
}

const offers: Readonly<Record<Offer, (folder: Folder) => Promise<string[]>>> = {
  async profiles({ dir, env }) {
    const { profiles } = await readSettings(dir);
    return [...new Set([...Object.keys(await readStored(env)), ...Object.keys(profiles)])];
  },
  templates: ({ dir }) => keysOf(dir, 'template'),
  workflows: ({ dir }) => keysOf(dir, 'workflow'),
  async patterns({ dir }) {
    const objects = (await listFiles(dir)).map(parseFilePath).filter((object) => object !== null);
    return [
      ...fileKinds.map((kind) => `${kind}/*`),
      ...objects.map(({ kind, key }) => `${kind}/${key}`),
    ];
  },
};
