import {
  type CompiledTemplate,
  compileTemplate,
  isCheapRendering,
  type Renderer,
  type TemplateVariables,
} from './render.ts';

/** Ends work that has come to a text which takes time to be made. */
class NotRendered extends Error {}

/** A text that is made from another one, and each once more as their values have just changed. */
const roundsMax = 4;

/**
 * Does work that others wait for, such as a transaction and its locks, without making them wait
 * for costly templates: where it needs one, it is given up; the text is made, and the work done
 * again. So it has to be repeatable, to end with what rendering throws, and to use the same values
 * each time. Should they change again and again, the work renders itself in the end.
 */
export async function renderAhead<T>(
  renderer: Renderer,
  work: (renderer: Renderer) => Promise<T>,
): Promise<T> {
  const texts = new Map<string, string[]>();
  for (let round = 1; round < roundsMax; round += 1) {
    const missing = new Map<string, () => Promise<string[]>>();
    try {
      return await work(renderKnown(renderer, texts, missing));
    } catch (error) {
      if (!(error instanceof NotRendered)) throw error;
    }
    for (const [name, make] of missing) texts.set(name, await make());
  }
  return work(renderer);
}

/** Returns what is cheap or among the `texts`; notes what is `missing`. */
function renderKnown(
  renderer: Renderer,
  texts: ReadonlyMap<string, string[]>,
  missing: Map<string, () => Promise<string[]>>,
): Renderer {
  async function known(
    kind: string,
    templates: readonly CompiledTemplate[],
    variables: TemplateVariables,
    make: () => Promise<string[]>,
  ): Promise<string[]> {
    if (isCheapRendering(templates, variables)) return make();
    const name = nameOf(kind, templates, variables);
    const made = texts.get(name);
    if (made) return made;
    missing.set(name, make);
    throw new NotRendered('A text is not made yet.');
  }
  return {
    async render(kind, template, variables) {
      const make = async () => [await renderer.render(kind, template, variables)];
      const [text = ''] = await known(kind, [template], variables, make);
      return text;
    },
    renderTexts: (sources, variables) =>
      known('texts', sources.map(compileTemplate), variables, () =>
        renderer.renderTexts(sources, variables),
      ),
  };
}

/** What a text is made from. */
function nameOf(
  kind: string,
  templates: readonly CompiledTemplate[],
  variables: TemplateVariables,
): string {
  const { contact, given, context, locale, urls } = variables;
  const { id, email, subscribed, data } = contact;
  const sources = templates.map(({ source }) => source);
  return JSON.stringify([kind, sources, id, email, subscribed, data, given, context, locale, urls]);
}
