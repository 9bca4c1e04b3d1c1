import { createHash } from 'node:crypto';
import { availableParallelism } from 'node:os';
import { LRUCache } from 'lru-cache';
import { type ContentLink, contentLinks } from '../../domain/links/content-links.ts';
import { type Inspection, inspectTemplate, uninspected } from '../../domain/template/inspect.ts';
import {
  stopped as stoppedRendering,
  type TemplateFault,
  unread,
} from '../../domain/template/faults.ts';
import {
  type CompiledTemplate,
  type Rendered,
  type RenderKind,
  type Renderer,
  type TemplateCheck,
  type TemplateVariables,
  cheapChars,
  checkTemplate,
  compileTemplate,
  renderIfCheap,
  renderPlainly,
} from '../../domain/template/render.ts';
import { ThreadPool, wasStopped } from './thread-pool.ts';

/** A task for a thread. If `fault` is set, only placeholders of the templates are replaced. */
export type RenderTask =
  | { kind: RenderKind; sources: string[]; variables: TemplateVariables; fault?: TemplateFault }
  | { kind: 'check'; source: string }
  | { kind: 'inspect'; source: string }
  | { kind: 'links'; source: string };

export interface TemplateRenderer extends Renderer {
  /** Checks a template before it is saved. A template that takes too long to parse is refused. */
  check(source: string, owner?: string): Promise<TemplateCheck>;
  /** Inspects a template without rendering it. */
  inspect(source: string, owner?: string): Promise<Inspection>;
  /** Returns the tracked links of a template; empty if that takes too long. */
  links(source: string, owner?: string): Promise<ContentLink[]>;
  /** Ends the threads and aborts their tasks. */
  close(): Promise<void>;
}

export interface RendererSettings {
  /**
   * Number of threads for costly templates. One project never gets all threads. Default: 2 to 4,
   * depending on the number of cores.
   */
  threads?: number;
  renderMs?: number;
}

/**
 * Maximum number of milliseconds for one rendering. Liquid's own limit is one second. Filters that
 * ignore Liquid's limit are stopped a little later.
 */
const renderMsDefault = 1_200;
/**
 * Maximum number of milliseconds for checking a template. The largest valid template takes a tenth
 * of this time.
 */
const checkMs = 1_000;
/**
 * Megabytes of memory of a thread. For ten megabytes of text, a thread needs several times this
 * size for intermediate values.
 */
const megabytes = 192;
/** Number of consecutive stops after which a template is not rendered again for `restMs`. */
const stopsMax = 3;
const restMs = 60_000;
const stoppedMax = 1_000;

/**
 * Creates a renderer. Cheap templates are rendered at once. All other templates are rendered in
 * threads, where they can be stopped, because a single filter may take minutes. Projects take
 * turns, and no project gets all threads, so one project with many costly templates does not delay
 * the others.
 */
export function createRenderer(settings: RendererSettings = {}): TemplateRenderer {
  const { renderMs = renderMsDefault } = settings;
  const count = settings.threads ?? Math.max(2, Math.min(4, availableParallelism() - 1));
  const threads = new ThreadPool<RenderTask>(import.meta.url, 'render-worker', count, megabytes);
  const stopped = new LRUCache<string, { times: number; at: number }>({ max: stoppedMax });

  const isAtRest = (source: string): boolean => {
    const stops = stopped.get(source);
    return stops !== undefined && stops.times >= stopsMax && Date.now() - stops.at < restMs;
  };
  const noteStop = (source: string): void => {
    const times = (stopped.get(source)?.times ?? 0) + 1;
    stopped.set(source, { times, at: Date.now() });
  };

  async function renderAll(
    kind: RenderKind,
    templates: readonly CompiledTemplate[],
    variables: TemplateVariables,
  ): Promise<Rendered[]> {
    const cheap = renderIfCheap(kind, templates, variables);
    if (cheap) return cheap;
    const sources = templates.map(({ source }) => source);
    const owner = variables.owner ?? '';
    const name = nameOf(owner, sources);
    const task = { kind, sources, variables };
    const texts = await threads.run(owner, task, renderMs, {
      isPointless: () => isAtRest(name),
    });
    if (texts === wasStopped) noteStop(name);
    if (Array.isArray(texts)) {
      stopped.delete(name);
      return texts as Rendered[];
    }
    const plain = await threads.run(owner, { ...task, fault: stoppedRendering }, renderMs);
    if (Array.isArray(plain)) return plain as Rendered[];
    const canTry = plain !== wasStopped;
    return templates.map((template) =>
      canTry ? renderHere(kind, template, variables) : asWritten(template),
    );
  }

  /** Runs a task in a thread. Returns null when the task takes too long. */
  async function read<T extends object>(owner: string, task: RenderTask): Promise<T | null> {
    const found = await threads.run(owner, task, checkMs);
    return typeof found === 'object' ? (found as T) : null;
  }

  return {
    async render(kind, template, variables) {
      const [rendered] = await renderAll(kind, [template], variables);
      return rendered ?? { text: '', fault: null };
    },
    async renderTexts(sources, variables) {
      return renderAll('text', sources.map(compileTemplate), variables);
    },
    async check(source, owner = '') {
      if (compileTemplate(source).isQuicklyRead) return checkTemplate(source);
      const found = await read<TemplateCheck>(owner, { kind: 'check', source });
      if (found) return found;
      return { ok: false, message: unread.message };
    },
    async inspect(source, owner = '') {
      if (compileTemplate(source).isQuicklyRead) return inspectTemplate(source);
      const found = await read<Inspection>(owner, { kind: 'inspect', source });
      return found ?? uninspected(unread);
    },
    async links(source, owner = '') {
      if (compileTemplate(source).isQuicklyRead) return contentLinks(source);
      return (await read<ContentLink[]>(owner, { kind: 'links', source })) ?? [];
    },
    async close() {
      await threads.close();
    },
  };
}

/**
 * Returns a short key for templates that are rendered together. The templates themselves may have
 * megabytes.
 */
function nameOf(owner: string, sources: readonly string[]): string {
  const hash = createHash('sha256').update(owner);
  for (const source of sources) hash.update('\0').update(source);
  return hash.digest('base64');
}

/**
 * Renders in the main thread, for values that cannot be sent to a thread, such as deeply nested
 * values.
 */
function renderHere(
  kind: RenderKind,
  template: CompiledTemplate,
  variables: TemplateVariables,
): Rendered {
  if (!template.isQuicklyRead) return asWritten(template);
  const fault = template.fault ?? stoppedRendering;
  return renderPlainly(kind, template, variables, fault, template.source.length + cheapChars);
}

function asWritten({ source }: CompiledTemplate): Rendered {
  return { text: source, fault: stoppedRendering };
}
