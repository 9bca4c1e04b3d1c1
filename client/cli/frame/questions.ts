import { createInterface } from 'node:readline/promises';
import { Writable } from 'node:stream';
import { wrongCall } from './failure.ts';

interface Streams {
  stdin: NodeJS.ReadStream;
  stderr: NodeJS.WriteStream;
  signal: AbortSignal;
}

/** Asks the user, on a terminal only: a script gets an error that names the option to use. */
export class Questions {
  readonly #streams: Streams;
  readonly isTerminal: boolean;

  constructor(streams: Streams) {
    this.#streams = streams;
    this.isTerminal = streams.stdin.isTTY && streams.stderr.isTTY;
  }

  /**
   * @param instead what to do without a terminal: `Use --yes`
   * @throws Failure without a terminal
   */
  async confirm(question: string, instead: string): Promise<boolean> {
    const answer = await this.text(`${question} [y/N] `, instead);
    return /^(y|yes)$/i.test(answer);
  }

  /** @throws Failure without a terminal */
  async text(question: string, instead: string): Promise<string> {
    return this.#ask(question, instead, this.#streams.stderr);
  }

  /** Asks for a secret, which is not echoed. */
  async secret(question: string, instead: string): Promise<string> {
    this.#streams.stderr.write(question);
    const silent = new Writable({ write: (_chunk, _encoding, done) => done() });
    const answer = await this.#ask('', instead, silent);
    this.#streams.stderr.write('\n');
    return answer;
  }

  async #ask(question: string, instead: string, output: NodeJS.WritableStream): Promise<string> {
    if (!this.isTerminal) throw wrongCall(`There is no terminal to ask on. ${instead}.`);
    const { stdin, signal } = this.#streams;
    const asked = createInterface({ input: stdin, output, terminal: true });
    // In this mode the terminal sends Ctrl-C as a character, which the interface turns into this.
    asked.on('SIGINT', () => process.kill(process.pid, 'SIGINT'));
    try {
      return (await asked.question(question, { signal })).trim();
    } finally {
      asked.close();
    }
  }
}
