import type { ShownError } from './failure.ts';
import { dim, jsonText, red, render, type Text } from './text.ts';

interface Stream {
  isTTY?: boolean;
  write(text: string): unknown;
}

export interface OutputOptions {
  /** `--json` or `--text`; without one, a terminal gets text. */
  format: 'json' | 'text' | undefined;
  env: Readonly<Record<string, string | undefined>>;
  stdout: Stream;
  stderr: Stream;
}

/** Writes the result to stdout and everything else to stderr. */
export class Output {
  readonly isJson: boolean;
  readonly #errorsAsJson: boolean;
  readonly #hasColours: { out: boolean; err: boolean };
  readonly #out: Stream;
  readonly #err: Stream;
  #hasProgress = false;

  constructor({ format, env, stdout, stderr }: OutputOptions) {
    const mayColour = !env['NO_COLOR'];
    this.isJson = format === undefined ? !stdout.isTTY : format === 'json';
    this.#errorsAsJson = format === 'json';
    this.#hasColours = {
      out: mayColour && stdout.isTTY === true,
      err: mayColour && stderr.isTTY === true,
    };
    this.#out = stdout;
    this.#err = stderr;
  }

  /** Writes the result: a JSON document, or lines of text. */
  result(value: unknown, lines: () => readonly Text[]): void {
    this.#clearProgress();
    if (this.isJson) this.#out.write(`${jsonText(value)}\n`);
    else for (const line of lines()) this.#line(line);
  }

  /** Writes lines of text, whatever the format. */
  lines(lines: readonly Text[]): void {
    this.#clearProgress();
    for (const line of lines) this.#line(line);
  }

  /** Writes one of many results, each on a line of its own. */
  item(value: unknown, line: () => Text): void {
    this.#clearProgress();
    if (this.isJson) this.#out.write(`${jsonText(value, 0)}\n`);
    else this.#line(line());
  }

  /** Writes a text as it is, for example a script. */
  raw(text: string): void {
    this.#out.write(text);
  }

  /** Tells what happens, on stderr. */
  note(text: Text): void {
    this.#clearProgress();
    this.#err.write(`${withoutKeys(render(text, this.#hasColours.err))}\n`);
  }

  /** Shows how far the work has come: in one line of a terminal, which the next text replaces. */
  progress(text: string): void {
    if (this.#err.isTTY !== true) return;
    this.#err.write(`\r\u001b[K${render(text, false)}`);
    this.#hasProgress = true;
  }

  error(shown: ShownError): void {
    const { code, message, status, requestId, errors } = shown;
    if (this.#errorsAsJson) {
      this.#clearProgress();
      const document = jsonText({ error: { code, message, status, requestId, errors } });
      this.#err.write(`${withoutKeys(document)}\n`);
      return;
    }
    this.note([red('Error: '), message]);
    for (const { field, message, line, column } of errors) {
      const place = line == null ? '' : ` (line ${line}, column ${column})`;
      this.note(`  ${field}${place}: ${message}`);
    }
    if (Object.keys(shown.details).length > 0) this.note(`  ${JSON.stringify(shown.details)}`);
    if (shown.suggestion !== null) this.note(shown.suggestion);
    if (requestId !== null) this.note(dim(`${code}, request ${requestId}`));
  }

  #line(text: Text): void {
    this.#out.write(`${render(text, this.#hasColours.out)}\n`);
  }

  #clearProgress(): void {
    if (this.#hasProgress) this.#err.write('\r\u001b[K');
    this.#hasProgress = false;
  }
}

/** Hides keys, because an error may repeat one that was given in the wrong place. */
function withoutKeys(text: string): string {
  return text.replaceAll(/sk_\w+/g, 'sk_•••');
}
