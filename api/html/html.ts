import { escapeHtml } from '../../domain/template/html.ts';

/** Text that is already HTML. */
export class Html {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

/** Values in a template. Text is escaped; null and false become empty; a list is joined. */
export type Content = Html | string | number | null | undefined | false | readonly Content[];

/**
 * Builds HTML from a template, with each value escaped unless it is `Html`. A value may be in
 * content or in a quoted attribute.
 */
export function html(parts: TemplateStringsArray, ...values: Content[]): Html {
  return new Html(parts.map((part, at) => `${part}${textOf(values[at])}`).join(''));
}

function textOf(value: Content): string {
  if (value === null || value === undefined || value === false) return '';
  if (value instanceof Html) return value.text;
  if (typeof value === 'object') return value.map(textOf).join('');
  return escapeHtml(String(value));
}
