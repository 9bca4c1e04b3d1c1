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

/**
 * Thrown when the workflow code does not compile. The message names the error, the file and the
 * line.
 */
export class WorkflowCodeFault extends Error {}

/**
 * The file that is added to bundles for replays, and that records the commands that the code
 * issues.
 */
export const recorder = here('issued-commands.ts');

/** The name of the file with the bundle that `npm run build` writes into this folder. */
export const builtBundle = 'built-workflows.js';

/**
 * Loads the workflow code from the built bundle. If the worker was not built, bundles the code now,
 * which takes seconds.
 */
export async function loadWorkflows(): Promise<WorkflowBundleOption> {
  const isBuilt = import.meta.filename.endsWith('.js');
  return isBuilt ? { codePath: here(builtBundle) } : bundleWorkflows();
}

/**
 * Bundles the workflow code for the sandbox, which takes a few seconds. All runs share the loaded
 * modules, so no module may keep state in a variable. Because the modules are shared, a cached run
 * needs a fifth less CPU time and two thirds less memory.
 * @param options.forReplay adds the recorder, which helps to explain a divergence
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

/** Returns the errors in the bundler's output, each with its position at the beginning. */
function faultsIn(output: string): string[] {
  const sections = output.split(/^ERROR in /m).slice(1);
  return sections.map((section) => {
    const [head = '', ...lines] = section.split('\n');
    const end = lines.findIndex((line) => /^(Caused by:|resolve '| @ |webpack \d|\s*$)/.test(line));
    const text = (end < 0 ? lines : lines.slice(0, end)).filter(
      (line) => !line.startsWith('Module build failed'),
    );
    // A syntax error has its line number in the code frame.
    const frame = lines.find((line) => line.includes(',-[')) ?? '';
    const [, at = ''] = /(:\d+:\d+)\]$/.exec(frame) ?? [];
    return `${head}${at}: ${text.join('\n').replace(/^Error:\s+(x )?/, '')}`;
  });
}
