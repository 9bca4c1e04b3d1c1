import {
  type CompiledTemplate,
  compileTemplate,
  isCheapRendering,
  type Rendered,
  type Renderer,
  type TemplateVariables,
} from './render.ts';

/** Aborts work that needs a text not rendered yet. */
class NotRendered extends Error {}

/** What was rendered: one text, or the texts of one mail. */
type Made = Rendered | string[];

/** A text may need another one first, and each once more when its values have just changed. */
const roundsMax = 4;

/**
 * Runs work that others wait for, such as a transaction with locks, without rendering costly
 * templates inside it. When the work needs one, it is aborted; the text is rendered, and the work
 * starts again. So the work must be repeatable, must not swallow what rendering throws, and must
 * use the same values each time. If they keep changing, the work finally renders them itself.
 */
export async function renderAhead<T>(
  renderer: Renderer,
  work: (renderer: Renderer) => Promise<T>,
): Promise<T> {
  const texts = new Map<string, Made>();
  for (let round = 1; round < roundsMax; round += 1) {
    const missing = new Map<string, () => Promise<Made>>();
    try {
      return await work(renderKnown(renderer, texts, missing));
    } catch (error) {
      if (!(error instanceof NotRendered)) throw error;
    }
    for (const [name, make] of missing) texts.set(name, await make());
  }
  return work(renderer);
}

/** Returns what is cheap or among the `texts`; collects what is `missing`. */
function renderKnown(
  renderer: Renderer,
  texts: ReadonlyMap<string, Made>,
  missing: Map<string, () => Promise<Made>>,
): Renderer {
  async function known<M extends Made>(
    kind: string,
    templates: readonly CompiledTemplate[],
    variables: TemplateVariables,
    make: () => Promise<M>,
  ): Promise<M> {
    if (isCheapRendering(templates, variables)) return make();
    const name = nameOf(kind, templates, variables);
    // A name says the kind: what was made under it is of the kind that is asked for.
    const made = texts.get(name) as M | undefined;
    if (made) return made;
    missing.set(name, make);
    throw new NotRendered('A text is not made yet.');
  }
  return {
    render: (kind, template, variables) =>
      known(kind, [template], variables, () => renderer.render(kind, template, variables)),
    renderTexts: (sources, variables) =>
      known('texts', sources.map(compileTemplate), variables, () =>
        renderer.renderTexts(sources, variables),
      ),
  };
}

/** Cache key of a text. */
function nameOf(
  kind: string,
  templates: readonly CompiledTemplate[],
  variables: TemplateVariables,
): string {
  const { contact, given, context, locale, urls, optIn } = variables;
  const { id, email, subscribed, data } = contact;
  const sources = templates.map(({ source }) => source);
  const values = [id, email, subscribed, data, given, context, locale, urls, optIn];
  return JSON.stringify([kind, sources, ...values]);
}
