import { nameInList } from './document.ts';

/** Variables of files: `${NAME}`. `$${` stands for `${`. */

export const variableName = /^[A-Z][A-Z0-9_]{0,63}$/;

const mention = /\$\$\{|\$\{([A-Z][A-Z0-9_]{0,63})\}/g;

/** @param path the names that lead to the text, as in a place */
type Refuse = (path: readonly string[], code: 'not_found' | 'too_big', message: string) => void;

/** Replaces the variables in the texts of values, together up to a number of characters. */
export class VariableReplacer {
  readonly #variables: ReadonlyMap<string, string>;
  #charsLeft: number;

  constructor(variables: Readonly<Record<string, string>>, charsMax: number) {
    this.#variables = new Map(Object.entries(variables));
    this.#charsLeft = charsMax;
  }

  /** Returns the value with variables replaced in its texts, not in its keys. */
  replace(value: unknown, refuse: Refuse, path: string[] = []): unknown {
    if (typeof value === 'string') return this.#text(value, refuse, path);
    if (Array.isArray(value)) {
      return value.map((item: unknown, index) =>
        this.replace(item, refuse, [...path, nameInList(item, index, path)]),
      );
    }
    if (typeof value !== 'object' || value === null) return value;
    const entries = Object.entries(value).map(([key, inner]) => [
      key,
      this.replace(inner, refuse, [...path, key]),
    ]);
    return Object.fromEntries(entries);
  }

  #text(text: string, refuse: Refuse, path: string[]): string {
    if (!text.includes('${')) return text;
    return text.replaceAll(mention, (written, variable: string | undefined) => {
      if (variable === undefined) return '${';
      const value = this.#variables.get(variable);
      if (value === undefined) {
        const message = `There is no variable ${variable}. Add it to \`variables\`, or write $\${ for a text without variable.`;
        refuse(path, 'not_found', message);
        return written;
      }
      this.#charsLeft -= value.length;
      if (this.#charsLeft >= 0) return value;
      const message = 'The values of variables make the files too large. Use shorter values.';
      refuse(path, 'too_big', message);
      return written;
    });
  }
}
