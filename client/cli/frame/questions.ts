import { createInterface } from 'node:readline/promises';
import { Writable } from 'node:stream';
import { refused, wrongCall } from './failure.ts';
import { escapeControls } from './text.ts';

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
    this.#needTerminal(instead);
    this.#streams.stderr.write(escapeControls(question));
    const silent = new Writable({ write: (_chunk, _encoding, done) => done() });
    try {
      return await this.#ask('', instead, silent);
    } finally {
      this.#streams.stderr.write('\n');
    }
  }

  async #ask(question: string, instead: string, output: NodeJS.WritableStream): Promise<string> {
    this.#needTerminal(instead);
    const { stdin, signal } = this.#streams;
    const asked = createInterface({ input: stdin, output, terminal: true });
    const ended = new Promise<never>((_resolve, reject) => {
      asked.once('close', () => reject(refused('NOT_CONFIRMED', 'The question has no answer.')));
    });
    // In this mode the terminal sends Ctrl-C as a character, which the interface turns into this.
    asked.on('SIGINT', () => process.kill(process.pid, 'SIGINT'));
    try {
      const answer = asked.question(escapeControls(question), { signal });
      return (await Promise.race([answer, ended])).trim();
    } finally {
      asked.close();
    }
  }

  #needTerminal(instead: string): void {
    if (!this.isTerminal) throw wrongCall(`There is no terminal to ask on. ${instead}.`);
  }
}
