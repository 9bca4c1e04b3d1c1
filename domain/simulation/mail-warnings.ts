import { wrapDocument } from '../template/html.ts';
import type { Renderer, TemplateVariables } from '../template/render.ts';
import { findMailWarnings, type Inspector, type TemplateWarning } from '../template/warnings.ts';
import type { StepMail } from '../workflow/steps/effects.ts';

/**
 * Returns the warnings about a simulated mail, the same as in a preview.
 * @param template null: the template was deleted
 */
export async function simulatedMailWarnings(
  renderer: Renderer & Inspector,
  { content, rendered, messageClass }: StepMail,
  template: { subject: string; body: string } | null,
  variables: TemplateVariables,
): Promise<TemplateWarning[]> {
  if (template === null) return [];
  const html = wrapDocument(content.body, variables.locale);
  return findMailWarnings(renderer, template, { rendered, variables, messageClass, html });
}
