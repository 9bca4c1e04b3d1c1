import { type Command, commonOptions, type Operand, type Option } from './command.ts';
import { bold, columns, type Text } from './text.ts';

/** The help of the program: its commands. */
export function programHelp(commands: readonly Command[]): Text[] {
  return [
    'The command line of Everpost: a project as files, and what you do every day.',
    '',
    [bold('Usage: '), 'everpost <command> [options]'],
    '',
    bold('Commands'),
    ...columns(
      commands.map(({ name, summary }) => [name, summary]),
      '  ',
    ),
    '',
    bold('Options'),
    ...columns(
      [
        ['--help', 'Show this help, or that of a command'],
        ['--version', 'Show the version'],
      ],
      '  ',
    ),
    '',
    [bold('Example: '), 'everpost plan --profile production'],
  ];
}

export function commandHelp(command: Command): Text[] {
  const { name, operands, summary, description, options, example } = command;
  const words = [name, ...operands.map(operandText)].join(' ');
  return [
    `${summary}.`,
    ...(description === undefined ? [] : ['', ...wrapped(description)]),
    '',
    [bold('Usage: '), `everpost ${words} [options]`],
    '',
    bold('Options'),
    ...columns(
      Object.entries({ ...options, ...commonOptions }).map(([option, declared]) => [
        optionText(option, declared),
        declared.summary,
      ]),
      '  ',
    ),
    '',
    [bold('Example: '), example],
  ];
}

function operandText({ name, isOptional, isMany }: Operand): string {
  const text = `<${name}>${isMany ? '…' : ''}`;
  return isOptional ? `[${text}]` : text;
}

function optionText(name: string, { type, value, choices, isValueOptional }: Option): string {
  if (type === 'boolean') return `--${name}`;
  const shown = value ?? choices?.join('|') ?? 'VALUE';
  return isValueOptional ? `--${name}[=${shown}]` : `--${name} ${shown}`;
}

/** Breaks sentences into lines of at most 80 characters. */
function wrapped(text: string): string[] {
  const lines: string[] = [''];
  for (const word of text.split(' ')) {
    const line = lines.at(-1)!;
    if (line === '') lines[lines.length - 1] = word;
    else if (line.length + 1 + word.length <= 80) lines[lines.length - 1] = `${line} ${word}`;
    else lines.push(word);
  }
  return lines;
}
