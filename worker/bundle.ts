import path from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import {
  bundleWorkflowCode,
  DefaultLogger,
  type WorkflowBundleOption,
  type WorkflowBundleWithSourceMap,
} from '@temporalio/worker';

const here = (file: string) => path.join(import.meta.dirname, file);

const workflowsPath = here('../workflows/index.ts');

/** The workflow code has a fault: a message that names it, the file and the line. */
export class WorkflowCodeFault extends Error {}

/** Added to bundles for replays: records the commands that the code issues. */
export const recorder = here('issued-commands.ts');

/** The file with the bundle, beside this one where `npm run build` has compiled it. */
export const builtBundle = 'built-workflows.js';

/** The workflow code for this process: as it was built, or bundled now, which takes seconds. */
export async function loadWorkflows(): Promise<WorkflowBundleOption> {
  const isBuilt = import.meta.filename.endsWith('.js');
  return isBuilt ? { codePath: here(builtBundle) } : bundleWorkflows();
}

/**
 * Bundles the workflow code as the sandbox runs it. Takes a few seconds.
 * Its modules are loaded once and shared by all runs: a fifth of the processor time and two thirds of
 * the memory of a run in the cache. So none of them may keep anything in a variable of its own.
 * @param options.forReplay with the recorder, which explains a divergence
 * @throws WorkflowCodeFault with the bundler's message
 */
export async function bundleWorkflows({
  forReplay = false,
} = {}): Promise<WorkflowBundleWithSourceMap> {
  const faults: string[] = [];
  try {
    return await bundleWorkflowCode({
      workflowsPath,
      preloadModules: ['@temporalio/workflow', workflowsPath],
      workflowInterceptorModules: forReplay ? [recorder] : [],
      logger: new DefaultLogger('ERROR', ({ message }) => void faults.push(message)),
    });
  } catch (error) {
    const told = faultsIn(stripVTControlCharacters(faults.join('\n')));
    const details = told.length > 0 ? told.join('\n\n') : [...faults, String(error)].join('\n');
    throw new WorkflowCodeFault(`The workflow code cannot be bundled.\n${details}`, {
      cause: error,
    });
  }
}

/** The errors in the bundler's output, without all that it says beside them: each begins with its place. */
function faultsIn(output: string): string[] {
  const sections = output.split(/^ERROR in /m).slice(1);
  return sections.map((section) => {
    const [head = '', ...lines] = section.split('\n');
    const end = lines.findIndex((line) => /^(Caused by:|resolve '| @ |webpack \d|\s*$)/.test(line));
    const text = (end < 0 ? lines : lines.slice(0, end)).filter(
      (line) => !line.startsWith('Module build failed'),
    );
    // A fault of the syntax has its line in the picture of the code.
    const frame = lines.find((line) => line.includes(',-[')) ?? '';
    const [, at = ''] = /(:\d+:\d+)\]$/.exec(frame) ?? [];
    return `${head}${at}: ${text.join('\n').replace(/^Error:\s+(x )?/, '')}`;
  });
}
