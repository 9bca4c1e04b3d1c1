import { parentPort } from 'node:worker_threads';
import { LRUCache } from 'lru-cache';
import { countTags } from '../../domain/template/cost.ts';
import { contentLinks } from '../../domain/links/content-links.ts';
import { inspectTemplate } from '../../domain/template/inspect.ts';
import {
  checkTemplate,
  compileTemplate,
  renderPlainly,
  renderTemplates,
} from '../../domain/template/render.ts';
import type { CompiledTemplate } from '../../domain/template/render.ts';
import type { RenderTask } from './renderer.ts';

/** The thread that renders, checks and inspects costly templates, one task at a time. */

/**
 * Maximum number of bytes of parsed templates that are cached, because a campaign renders one
 * template again and again. A parsed tag takes about a kilobyte.
 */
const keptBytesMax = 20_000_000;
const tagBytes = 1_000;
const kept = new LRUCache<string, CompiledTemplate>({
  maxSize: keptBytesMax,
  sizeCalculation: (_, source) => 2 * source.length + tagBytes * countTags(source) + 1,
});

function compiled(source: string): CompiledTemplate {
  const known = kept.get(source);
  if (known) return known;
  const template = compileTemplate(source);
  kept.set(source, template);
  return template;
}

function answer(task: RenderTask): unknown {
  if (task.kind === 'check') return checkTemplate(task.source);
  if (task.kind === 'inspect') return inspectTemplate(task.source);
  if (task.kind === 'links') return contentLinks(task.source);
  const { kind, sources, variables, fault } = task;
  if (!fault) return renderTemplates(kind, sources.map(compiled), variables);
  return sources.map((source) => renderPlainly(kind, compileTemplate(source), variables, fault));
}

parentPort?.on('message', (task: RenderTask) => parentPort?.postMessage(answer(task), []));
parentPort?.postMessage('ready', []);
