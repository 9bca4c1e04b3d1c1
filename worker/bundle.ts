import path from 'node:path';
import {
  bundleWorkflowCode,
  DefaultLogger,
  type WorkflowBundleWithSourceMap,
} from '@temporalio/worker';

const here = (file: string) => path.join(import.meta.dirname, file);

/** In a bundle for replays: it tells what the code asks for. */
export const recorder = here('issued-commands.ts');

/**
 * Bundles the workflow code as the sandbox runs it. Takes a few seconds.
 * @param options.forReplay with the recorder, by which a divergence is explained
 * @throws Error with what the bundler says is wrong with the code
 */
export async function bundleWorkflows({
  forReplay = false,
} = {}): Promise<WorkflowBundleWithSourceMap> {
  const faults: string[] = [];
  try {
    return await bundleWorkflowCode({
      workflowsPath: here('../workflows/index.ts'),
      workflowInterceptorModules: forReplay ? [recorder] : [],
      logger: new DefaultLogger('ERROR', ({ message }) => void faults.push(message)),
    });
  } catch (error) {
    const details = [...faults, String(error)].join('\n');
    throw new Error(`The workflow code cannot be bundled.\n${details}`, { cause: error });
  }
}
