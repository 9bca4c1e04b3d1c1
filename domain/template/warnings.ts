import { containsOptOutLink } from './html.ts';
import { lineStarts, type Place, type TemplateFault } from './faults.ts';
import type { Inspection } from './inspect.ts';
import { type TemplateVariables, templateScope } from './render.ts';
import { namedPath } from './liquid-context.ts';

/** A problem of a template that the customer should know before sending. */
export interface TemplateWarning extends Place {
  code: (typeof warningCodes)[number];
  message: string;
}

export const warningCodes = [
  'liquid_syntax',
  'liquid_limit',
  'unknown_filter',
  'filter_in_fallback',
  'unknown_variable',
  'missing_unsubscribe_link',
  'large_message',
  'image_without_alt',
  'http_link',
] as const;

/** Inspects templates without rendering them. */
export interface Inspector {
  inspect(source: string, owner?: string): Promise<Inspection>;
}

/**
 * Inspects the subject and body templates of a rendered mail, and returns all warnings.
 * @param mail.rendered the rendered texts, without the parts that the message class adds to the
 * body
 * @param mail.html the document that would be sent
 */
export async function findMailWarnings(
  inspector: Inspector,
  template: { subject: string; body: string },
  mail: {
    rendered: Record<Part['name'], { text: string; fault: TemplateFault | null }>;
    variables: TemplateVariables;
    messageClass: string;
    html: string;
  },
): Promise<TemplateWarning[]> {
  const { rendered, variables, messageClass, html } = mail;
  const parts = (['subject', 'body'] as const).map(async (name): Promise<Part> => {
    const source = template[name];
    const inspection = await inspector.inspect(source, variables.owner);
    return { name, source, inspection, fault: rendered[name].fault };
  });
  return mailWarnings({
    parts: await Promise.all(parts),
    variables,
    messageClass,
    body: rendered.body.text,
    bytes: new TextEncoder().encode(html).length,
  });
}

/**
 * A part of a mail. `fault`: why only placeholders of the part were replaced; null: the part was
 * fully rendered.
 */
interface Part {
  name: 'subject' | 'body';
  source: string;
  inspection: Inspection;
  fault: TemplateFault | null;
}

/** Maximum number of warnings about a mail, because a longer list does not help the reader. */
const warningsMax = 100;
/** Number of bytes of HTML from which on Gmail clips a message and hides its end. */
export const clippedBytes = 102 * 1024;

/** Returns faults of the subject and of the body as warnings. */
export function faultWarnings(faults: {
  subject: TemplateFault | null;
  body: TemplateFault | null;
}): TemplateWarning[] {
  return (['subject', 'body'] as const).flatMap((name) => {
    const fault = faults[name];
    return fault === null ? [] : [{ ...fault, message: inPart(name, fault.message) }];
  });
}

/** Returns at most `warningsMax` warnings about a rendered mail, those about the subject first. */
export function mailWarnings(mail: {
  parts: readonly Part[];
  variables: TemplateVariables;
  messageClass: string;
  /** The rendered body; `bytes` is the size of the document that would be sent. */
  body: string;
  bytes: number;
}): TemplateWarning[] {
  const { variables, body } = mail;
  const values = templateScope(variables).values;
  const warnings = mail.parts.flatMap((part): TemplateWarning[] => {
    const { name, inspection } = part;
    const fault = part.fault ?? inspection.fault;
    return [
      ...(fault ? faultWarnings({ subject: null, body: null, [name]: fault }) : []),
      ...inspection.unknownFilters.map(({ name: filter, ...place }) => ({
        code: 'unknown_filter' as const,
        message: inPart(name, `There is no filter "${filter}": the value is not changed.`),
        ...place,
      })),
      ...inspection.textFilters.map(({ name: filter, ...place }) => ({
        code: 'filter_in_fallback' as const,
        message: inPart(
          name,
          `Text after "??" is sent as it is, so "| ${filter}" has no effect there. Put filters before ` +
            `"??", or use "default": {{ name | default: "friend" | ${filter} }}.`,
        ),
        ...place,
      })),
      ...inspection.names
        .filter(({ path }) => !isKnown(path, values))
        .map(({ path, ...place }) => ({
          code: 'unknown_variable' as const,
          message: inPart(
            name,
            `There is no variable "${path.join('.')}": it is rendered as empty text.`,
          ),
          ...place,
        })),
      ...(name === 'body' ? markupWarnings(part.source, body) : []),
    ];
  });
  const whole = (code: TemplateWarning['code'], message: string, isSo: boolean) => {
    if (isSo) warnings.push({ code, message, line: null, column: null });
  };
  const hasOptOut = containsOptOutLink(body, variables.contact.id);
  whole(
    'missing_unsubscribe_link',
    'A HEADLESS mail has no footer. Add an opt-out link to the template.',
    mail.messageClass === 'HEADLESS' && !hasOptOut,
  );
  whole(
    'large_message',
    'The HTML is larger than 102 KB, so Gmail shows only its beginning. Shorten it.',
    mail.bytes > clippedBytes,
  );
  return warnings.slice(0, warningsMax);
}

function inPart(name: Part['name'], message: string): string {
  return name === 'subject' ? `In the subject: ${message}` : message;
}

/** Properties that Liquid adds to lists and texts. */
const ownProperties = ['size', 'first', 'last'];

function isKnown(path: readonly string[], values: Record<string, unknown>): boolean {
  let value: unknown = values;
  for (const [depth, key] of (namedPath(values, path) as readonly string[]).entries()) {
    // Names inside lists and texts, and names below a missing value, are not checked.
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return true;
    if (depth > 0 && ownProperties.includes(key)) return true;
    if (!Object.hasOwn(value, key)) return false;
    value = (value as Record<string, unknown>)[key];
  }
  return true;
}

/**
 * Patterns of suspicious markup in HTML. Each match ends before the next tag, so a text is read
 * only once.
 */
const markup = [
  {
    code: 'image_without_alt',
    message: 'An image has no alt text. Add one for readers who do not see it.',
    pattern: /<img\b[^<>]*/gi,
    isFault: (found: string) => !/\salt(?=[\s=/]|$)/i.test(found),
  },
  {
    code: 'http_link',
    message: 'A link begins with http://, which is not encrypted. Use https://.',
    pattern: /\bhref\s{0,9}=\s{0,9}["']?http:\/\//gi,
    isFault: () => true,
  },
] as const;

/**
 * Returns warnings with their positions in the template. If only a value contains the markup, the
 * warning has no position.
 */
function markupWarnings(source: string, rendered: string): TemplateWarning[] {
  const starts = lineStarts(source);
  return markup.flatMap(({ code, message, pattern, isFault }) => {
    const found: TemplateWarning[] = [];
    for (const match of source.matchAll(pattern)) {
      if (!isFault(match[0])) continue;
      const line = starts.findLastIndex((start) => start <= match.index);
      found.push({ code, message, line: line + 1, column: match.index - (starts[line] ?? 0) + 1 });
      if (found.length === warningsMax) return found;
    }
    if (found.length > 0) return found;
    for (const match of rendered.matchAll(pattern)) {
      if (isFault(match[0])) return [{ code, message, line: null, column: null }];
    }
    return found;
  });
}
