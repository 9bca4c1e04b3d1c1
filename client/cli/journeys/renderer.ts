import { inspectTemplate } from '../../../domain/template/inspect.ts';
import {
  compileTemplate,
  type Renderer,
  renderTemplates,
} from '../../../domain/template/render.ts';
import type { Inspector } from '../../../domain/template/warnings.ts';

/** Renders in this thread: the templates are the user's own. */
export const renderer: Renderer & Inspector = {
  async render(kind, template, variables) {
    return renderTemplates(kind, [template], variables)[0]!;
  },
  async renderTexts(sources, variables) {
    return renderTemplates('text', sources.map(compileTemplate), variables);
  },
  async inspect(source) {
    return inspectTemplate(source);
  },
};
