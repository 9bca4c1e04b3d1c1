import type { Everpost } from '../../everpost.ts';
import type { Environment } from './environment.ts';
import type { ExitCode } from './failure.ts';
import type { Output } from './output.ts';
import type { Project } from './profiles.ts';
import type { Questions } from './questions.ts';
import type { FolderSettings } from './settings.ts';

/** An option of a command, such as `--dir DIR`. */
export interface Option {
  type: 'boolean' | 'string';
  /** May be given several times. */
  multiple?: boolean;
  /** May be given without a value, which is then the empty string: `--prune`. */
  isValueOptional?: boolean;
  /** The name of the value in the help. */
  value?: string;
  /** The possible values, also for the completion. */
  choices?: readonly string[];
  /** The words that the completion offers as values. */
  offers?: Offer | readonly string[];
  summary: string;
}

/** Words that the completion finds: profiles, keys of files, or patterns of files. */
export type Offer = 'profiles' | 'templates' | 'workflows' | 'patterns';

export type Options = Readonly<Record<string, Option>>;

type ValueOf<O extends Option> = O extends { type: 'boolean' }
  ? boolean
  : O extends { multiple: true }
    ? string[]
    : string | undefined;

/** The values of the options: false, undefined or an empty list if an option is not given. */
export type Values<O extends Options> = { [Name in keyof O]: ValueOf<O[Name]> };

/** A word after the name of the command. */
export interface Operand {
  name: string;
  isOptional?: boolean;
  /** Any number of words, at the end. */
  isMany?: boolean;
  choices?: readonly string[];
  offers?: Offer;
}

/** The options of every command. */
export const commonOptions = {
  dir: { type: 'string', value: 'DIR', summary: 'The folder of the files; default: this one' },
  profile: {
    type: 'string',
    value: 'NAME',
    offers: 'profiles',
    summary: 'The project to use; default: EVERPOST_PROFILE, else "default"',
  },
  json: { type: 'boolean', summary: 'Write JSON, as without a terminal' },
  text: { type: 'boolean', summary: 'Write text, as on a terminal' },
  help: { type: 'boolean', summary: 'Show this help' },
} as const satisfies Options;

/** A command that is running. */
export interface Call<O extends Options = Options> {
  options: Values<O & typeof commonOptions>;
  operands: readonly string[];
  output: Output;
  questions: Questions;
  /** Absolute path of the folder of the files, `--dir`. */
  dir: string;
  /** Absolute path of the folder in which the command was called. */
  cwd: string;
  env: Environment;
  /** Aborted by Ctrl-C. */
  signal: AbortSignal;
  /** All commands, for the completion. */
  commands: readonly Command[];
  /** Text that is read from stdin until its end. */
  stdin: () => Promise<string>;
  /** Reads `everpost.yaml`. */
  settings: () => Promise<FolderSettings>;
  /** Returns the project of a profile, by default of the one that was chosen. */
  project: (profile?: string) => Promise<Project>;
  /** Returns the client of this project. */
  api: (profile?: string) => Promise<Everpost>;
  /** Asks the server for its time, to the second. */
  serverTime: () => Promise<Date>;
}

export interface Command<O extends Options = Options> {
  name: string;
  operands: readonly Operand[];
  /** One sentence without a full stop, for the list of commands. */
  summary: string;
  /** More sentences, for the help of the command. */
  description?: string;
  options: O;
  example: string;
  run: (call: Call<O>) => Promise<ExitCode | void>;
}

/** Declares a command: its `run` gets the values of its options by their types. */
export function command<const O extends Options>(declared: Command<O>): Command {
  return declared as unknown as Command;
}
