import {
  type CompiledTemplate,
  compileTemplate,
  renderIfCheap,
  type Rendered,
  type Renderer,
  type RenderKind,
  type TemplateVariables,
} from './render.ts';

/** Thrown to abort the work when it needs a text that is not rendered yet. */
class NotRendered extends Error {}

/**
 * Maximum number of runs of the work. Each run except the last is aborted when a text is missing;
 * the last one renders inside the work. Four runs are enough for two texts of which one changes.
 */
const roundsMax = 4;

/**
 * Runs work that others wait for, such as a transaction with locks, without rendering costly
 * templates inside. When the work needs a costly text, the work is aborted, the text is rendered,
 * and the work starts again. If the values keep changing, the last run renders inside the work.
 *
 * So the work must be repeatable, must not catch the errors of the renderer, and should use the
 * same values each time.
 */
export async function renderAhead<T>(
  renderer: Renderer,
  work: (renderer: Renderer) => Promise<T>,
): Promise<T> {
  const texts = new Map<string, Rendered[]>();
  for (let round = 1; round < roundsMax; round += 1) {
    const missing = new Map<string, () => Promise<Rendered[]>>();
    try {
      return await work(renderKnown(renderer, texts, missing));
    } catch (error) {
      if (!(error instanceof NotRendered)) throw error;
    }
    for (const [name, make] of missing) texts.set(name, await make());
  }
  return work(renderer);
}

/**
 * Returns a renderer that renders cheap texts itself and takes other texts from `texts`. It throws
 * NotRendered for a text that `texts` lacks, and adds this text to `missing`.
 */
function renderKnown(
  renderer: Renderer,
  texts: ReadonlyMap<string, Rendered[]>,
  missing: Map<string, () => Promise<Rendered[]>>,
): Renderer {
  function known(
    kind: RenderKind,
    templates: readonly CompiledTemplate[],
    variables: TemplateVariables,
    make: () => Promise<Rendered[]>,
  ): Rendered[] {
    const cheap = renderIfCheap(kind, templates, variables);
    if (cheap) return cheap;
    const name = nameOf(kind, templates, variables);
    const made = texts.get(name);
    if (made) return made;
    missing.set(name, make);
    throw new NotRendered('A text is not rendered yet.');
  }
  return {
    async render(kind, template, variables) {
      const make = async () => [await renderer.render(kind, template, variables)];
      const [rendered] = known(kind, [template], variables, make);
      return rendered!;
    },
    async renderTexts(sources, variables) {
      const make = () => renderer.renderTexts(sources, variables);
      return known('text', sources.map(compileTemplate), variables, make);
    },
  };
}

/** Returns the key of a text in `texts`. */
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
