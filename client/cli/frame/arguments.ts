import { parseArgs } from 'node:util';
import { type Command, commonOptions, type Option, type Options } from './command.ts';
import { wrongCall } from './failure.ts';
import { hintOf } from './hint.ts';

interface Arguments {
  options: Record<string, boolean | string | string[] | undefined>;
  operands: string[];
}

/**
 * Reads the words after the name of a command.
 * @throws Failure naming the unknown option and the one that was probably meant
 */
export function readArguments(command: Command, words: readonly string[]): Arguments {
  const known: Options = { ...command.options, ...commonOptions };
  const { tokens } = parseArgs({
    args: withValues(words, known),
    options: Object.fromEntries(
      Object.entries(known).map(([name, { type, multiple = false }]) => [name, { type, multiple }]),
    ),
    strict: false,
    allowPositionals: true,
    tokens: true,
  });
  const options: Arguments['options'] = {};
  const operands: string[] = [];
  for (const token of tokens) {
    if (token.kind === 'positional') operands.push(token.value);
    if (token.kind !== 'option') continue;
    const option = Object.hasOwn(known, token.name) ? known[token.name] : undefined;
    if (!option) {
      const hint = hintOf(token.name, Object.keys(known), '--');
      throw wrongCall(`${command.name} has no option ${token.rawName}.${hint}`);
    }
    const value = valueOf(token.rawName, option, token);
    if (option.multiple)
      options[token.name] = [...((options[token.name] as string[]) ?? []), value as string];
    else options[token.name] = value;
  }
  for (const [name, { type, multiple }] of Object.entries(known)) {
    options[name] ??= type === 'boolean' ? false : multiple ? [] : undefined;
  }
  if (options['json'] === true && options['text'] === true) {
    throw wrongCall('Choose one of --json and --text.');
  }
  return { options, operands };
}

/** Gives an option whose value is optional the empty value, so that it does not take the next word. */
function withValues(words: readonly string[], known: Options): string[] {
  const end = words.indexOf('--');
  return words.map((word, at) => {
    const isOption = word.startsWith('--') && (end === -1 || at < end);
    const name = word.slice(2);
    return isOption && Object.hasOwn(known, name) && known[name]!.isValueOptional
      ? `${word}=`
      : word;
  });
}

function valueOf(
  name: string,
  { type, choices, isValueOptional }: Option,
  { value, inlineValue }: { value?: string | undefined; inlineValue?: boolean | undefined },
): boolean | string {
  if (type === 'boolean') {
    if (value !== undefined) throw wrongCall(`${name} takes no value.`);
    return true;
  }
  const isMissing = value === undefined || (!inlineValue && /^-./.test(value));
  if (isMissing) {
    throw wrongCall(`${name} needs a value. One that begins with "-" is written ${name}=-….`);
  }
  if (choices && !choices.includes(value) && !(isValueOptional && value === '')) {
    throw wrongCall(`${name} is one of ${choices.join(', ')}.${hintOf(value, choices)}`);
  }
  return value;
}

/** @throws Failure if words are missing, or there are too many */
export function checkOperands({ name, operands }: Command, given: readonly string[]): void {
  for (const [at, { choices }] of operands.entries()) {
    const word = given[at];
    if (word === undefined || !choices || choices.includes(word)) continue;
    const hint = hintOf(word, choices);
    throw wrongCall(`${name} takes ${choices.join(', ')}, not "${word}".${hint}`);
  }
  const missing = operands.filter(({ isOptional }) => !isOptional)[given.length];
  if (missing) throw wrongCall(`${name} needs <${missing.name}>. See everpost ${name} --help.`);
  const isMany = operands.some(({ isMany: many }) => many);
  if (given.length > operands.length && !isMany) {
    throw wrongCall(
      `${name} does not take "${given[operands.length]}". See everpost ${name} --help.`,
    );
  }
}
