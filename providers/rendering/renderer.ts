import { availableParallelism } from 'node:os';
import { type Inspection, inspectTemplate, uninspected } from '../../domain/template/inspect.ts';
import { stopped as stoppedRendering, unread } from '../../domain/template/faults.ts';
import {
  type CompiledTemplate,
  type Rendered,
  type RenderKind,
  type Renderer,
  type TemplateCheck,
  type TemplateVariables,
  checkTemplate,
  compileTemplate,
  isCheapRendering,
  isQuicklyRead,
  renderPlainly,
  renderTemplate,
} from '../../domain/template/render.ts';
import { ThreadPool, wasStopped } from './thread-pool.ts';

/** A task of a thread. */
export type RenderTask =
  | { kind: RenderKind; sources: string[]; variables: TemplateVariables }
  | { kind: 'check'; source: string }
  | { kind: 'inspect'; source: string };

export interface TemplateRenderer extends Renderer {
  /** Checks a template before it is saved; one that takes too long to parse is refused. */
  check(source: string, owner?: string): Promise<TemplateCheck>;
  /** Reads what can be said of a template without rendering it. */
  inspect(source: string, owner?: string): Promise<Inspection>;
  /** Ends the threads and aborts their tasks. */
  close(): Promise<void>;
}

export interface RendererSettings {
  /** Threads for costly templates. Default: all cores but one, at most 4. */
  threads?: number;
  /** A rendering is stopped after this time, in milliseconds. */
  renderMs?: number;
}

/** Liquid's own limit is one second; what ignores it is stopped a little later. */
const renderMsDefault = 1_200;
/** Two megabytes of tags take seconds to parse. */
const checkMs = 20_000;
/**
 * Memory of a thread, in megabytes; one that needs more ends. Ten megabytes of text need a multiple
 * as intermediate values, and two megabytes of tags are hundreds when parsed.
 */
const renderMegabytes = 192;
const checkMegabytes = 768;
/** A template stopped this often in a row is not tried again for a while. */
const stopsMax = 3;
const restMs = 60_000;
const stoppedMax = 1_000;

/**
 * Renders cheap templates at once, and all others in threads, where they can be stopped: Liquid
 * checks the time between tags only, and one filter may take minutes. Projects take turns at the
 * threads, so that one with many costly templates delays the others by one rendering at most.
 */
export function createRenderer(settings: RendererSettings = {}): TemplateRenderer {
  const { renderMs = renderMsDefault } = settings;
  const threads = settings.threads ?? Math.min(4, Math.max(1, availableParallelism() - 1));
  const renderings = new ThreadPool<RenderTask>('render-worker', threads, renderMegabytes);
  // Separate from the renderings: parsing a large template may take long and is not an error.
  const checks = new ThreadPool<RenderTask>('render-worker', 1, checkMegabytes);
  const stopped = new Map<string, { times: number; at: number }>();

  const isAtRest = (source: string): boolean => {
    const stops = stopped.get(source);
    return stops !== undefined && stops.times >= stopsMax && Date.now() - stops.at < restMs;
  };
  const noteStop = (source: string): void => {
    const times = (stopped.get(source)?.times ?? 0) + 1;
    stopped.delete(source);
    stopped.set(source, { times, at: Date.now() });
    const [oldest] = stopped.keys();
    if (stopped.size > stoppedMax && oldest !== undefined) stopped.delete(oldest);
  };

  async function renderAll(
    kind: RenderKind,
    templates: readonly CompiledTemplate[],
    variables: TemplateVariables,
  ): Promise<Rendered[]> {
    if (isCheapRendering(templates, variables)) {
      return templates.map((template) => renderTemplate(kind, template, variables));
    }
    const sources = templates.map(({ source }) => source);
    const owner = variables.owner ?? '';
    const name = [owner, ...sources].join('\0');
    const task = { kind, sources, variables };
    const texts = await renderings.run(owner, task, renderMs, () => isAtRest(name));
    if (texts === wasStopped) noteStop(name);
    if (!Array.isArray(texts)) {
      return templates.map((template) => {
        // What may be slow to parse is not parsed here.
        const fault = isQuicklyRead(template.source) ? template.fault : null;
        return renderPlainly(kind, template, variables, fault ?? stoppedRendering);
      });
    }
    stopped.delete(name);
    return texts as Rendered[];
  }

  return {
    async render(kind, template, variables) {
      const [rendered] = await renderAll(kind, [template], variables);
      return rendered ?? { text: '', fault: null };
    },
    async renderTexts(sources, variables) {
      const rendered = await renderAll('text', sources.map(compileTemplate), variables);
      return rendered.map(({ text }) => text);
    },
    async check(source, owner = '') {
      if (isQuicklyRead(source)) return checkTemplate(source);
      const found = await checks.run(owner, { kind: 'check', source }, checkMs);
      if (typeof found === 'object') return found as TemplateCheck;
      return { ok: false, message: 'The template takes too long to be read.' };
    },
    async inspect(source, owner = '') {
      if (isQuicklyRead(source)) return inspectTemplate(source);
      const found = await checks.run(owner, { kind: 'inspect', source }, checkMs);
      if (typeof found === 'object') return found as Inspection;
      return uninspected(unread);
    },
    async close() {
      await Promise.all([renderings.close(), checks.close()]);
    },
  };
}
