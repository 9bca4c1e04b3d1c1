import { parentPort } from 'node:worker_threads';
import { inspectTemplate } from '../../domain/template/inspect.ts';
import { checkTemplate, compileTemplate, renderTemplate } from '../../domain/template/render.ts';
import type { CompiledTemplate } from '../../domain/template/render.ts';
import type { RenderTask } from './renderer.ts';

/** The thread that renders costly templates: one task at a time. */

/** Characters of source kept parsed: a campaign renders the same template again and again. */
const keptCharsMax = 1_000_000;
const kept = new Map<string, CompiledTemplate>();
let keptChars = 0;

function compiled(source: string): CompiledTemplate {
  const known = kept.get(source);
  if (known) return known;
  if (keptChars + source.length > keptCharsMax) {
    kept.clear();
    keptChars = 0;
  }
  const template = compileTemplate(source);
  kept.set(source, template);
  keptChars += source.length;
  return template;
}

function answer(task: RenderTask): unknown {
  if (task.kind === 'check') return checkTemplate(task.source);
  if (task.kind === 'inspect') return inspectTemplate(task.source);
  return task.sources.map((source) => renderTemplate(task.kind, compiled(source), task.variables));
}

parentPort?.on('message', (task: RenderTask) => parentPort?.postMessage(answer(task), []));
parentPort?.postMessage('ready', []);
