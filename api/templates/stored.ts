import { invalidField } from '../../domain/errors.ts';
import { faultText } from '../../domain/template/faults.ts';
import type { TemplateRenderer } from '../../providers/rendering/renderer.ts';

/** Checks of stored texts: their syntax may be invalid if an earlier version accepted them. */

/**
 * Returns the first text with invalid syntax, with the error and its position; null: all texts are
 * valid.
 */
export async function findBrokenText(
  renderer: TemplateRenderer,
  texts: { subject: string; body: string },
  projectId: string,
): Promise<{ field: 'subject' | 'body'; message: string } | null> {
  for (const field of ['subject', 'body'] as const) {
    const { fault } = await renderer.inspect(texts[field], projectId);
    // A text that only exceeds a limit is not refused. In its mail, only the placeholders are
    // replaced.
    if (fault?.code === 'liquid_syntax') return { field, message: faultText(fault) };
  }
  return null;
}

/**
 * Refuses stored texts with invalid syntax.
 * @param path prefix of the name of a field
 * @throws Problem VALIDATION_ERROR `invalid_template` with the line
 */
export async function refuseBrokenText(
  renderer: TemplateRenderer,
  texts: { subject: string; body: string },
  projectId: string,
  path = '',
): Promise<void> {
  const broken = await findBrokenText(renderer, texts, projectId);
  if (broken) throw invalidField(`${path}${broken.field}`, 'invalid_template', broken.message);
}
