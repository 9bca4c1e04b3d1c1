import { limits } from '../limits.ts';
import { countTags } from '../template/cost.ts';
import type { Renderer } from '../template/render.ts';
import {
  buildWebhook,
  type WebhookCall,
  type WebhookSettings,
  webhookSources,
  type WebhookVariables,
} from './webhook.ts';
import { markSecrets, revealed } from '../secrets/in-templates.ts';

/** The request of a WEBHOOK step, rendered but without its secrets. */
export interface RenderedWebhook {
  secretNames: string[];
  /**
   * Returns the request with `valueOf(name)` in place of each secret. `fault`: an error in the
   * step's config.
   */
  build(valueOf: (name: string) => string): WebhookCall | { fault: string };
}

/**
 * Renders the request of a WEBHOOK step.
 * @param mark an unguessable text that stands for secrets during rendering
 */
export async function renderWebhook(
  renderer: Renderer,
  config: WebhookSettings,
  variables: WebhookVariables,
  mark: string,
): Promise<RenderedWebhook> {
  const sources = webhookSources(config, variables);
  // The search for secrets runs in the main thread, so the number of tags in the sources is
  // limited.
  const tags = sources.reduce((sum, source) => sum + countTags(source), 0);
  if (tags > limits.templateTags) {
    const fault = `The request must have at most ${limits.templateTags} tags and placeholders, not ${tags}.`;
    return { secretNames: [], build: () => ({ fault }) };
  }
  const marked = sources.map((source) => markSecrets(source, mark));
  const texts = await renderer.renderTexts(
    marked.map(({ text }) => text),
    variables,
  );
  const rendered = new Map(sources.map((source, index) => [source, texts[index]]));
  return {
    secretNames: [...new Set(marked.flatMap(({ names }) => names))],
    build: (valueOf) =>
      buildWebhook(config, variables, (source) => {
        const { text = '', value } = rendered.get(source) ?? {};
        return value === undefined ? { text: revealed(text, mark, valueOf) } : { text, value };
      }),
  };
}
