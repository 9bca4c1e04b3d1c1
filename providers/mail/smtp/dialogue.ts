import { type Reply, type Wire, replyText } from './wire.ts';

/** Sends one command at a time and waits for its reply. */
export class Dialogue {
  readonly #wire: Wire;
  #waiting: { resolve: (reply?: Reply) => void; reject: (error: Error) => void } | null = null;
  #error: Error | null = null;

  constructor(wire: Wire) {
    this.#wire = wire;
    wire.onReply = (reply) => {
      const waiting = this.#waiting;
      this.#waiting = null;
      if (waiting) waiting.resolve(reply);
      else wire.end(new Error(`Unexpected reply of the server: ${replyText(reply)}`));
    };
    wire.onEnd = (error) => {
      this.#error = error;
      this.#waiting?.reject(error);
    };
  }

  listen(): Promise<Reply> {
    return this.#wait(() => {}) as Promise<Reply>;
  }

  ask(command: string): Promise<Reply> {
    return this.write(`${command}\r\n`);
  }

  /** Writes whole lines and waits for the reply. */
  write(lines: string | Buffer): Promise<Reply> {
    return this.#wait(() => this.#wire.write(lines)) as Promise<Reply>;
  }

  async encrypt(): Promise<void> {
    await this.#wait((done) => this.#wire.secure(done));
  }

  /** Ends the dialogue. @throws Error when the connection has already ended */
  close(): void {
    if (this.#error) throw this.#error;
  }

  #wait(begin: (done: () => void) => void): Promise<Reply | undefined> {
    return new Promise((resolve, reject) => {
      if (this.#error) return reject(this.#error);
      this.#waiting = { resolve, reject };
      begin(() => {
        this.#waiting = null;
        resolve(undefined);
      });
    });
  }
}
