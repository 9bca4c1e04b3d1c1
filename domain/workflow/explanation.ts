import { cutText } from '../text-rules.ts';
import type { GraphStep } from './graph.ts';
import { stepModules } from './steps/registry.ts';

const explanationChars = 300;

/**
 * Returns in words what a step waits for, or why its execution took a branch; null: the output of
 * the step does not show it.
 */
export function explanationOf(
  { type, config }: Pick<GraphStep, 'type' | 'config'>,
  output: Record<string, unknown> | null,
): string | null {
  if (output === null || output['skipped']) return null;
  // A version may have steps of a type that this build does not know.
  const text = stepModules[type]?.explain?.(config, output) ?? null;
  return text && cutText(text, explanationChars);
}
