import path from 'node:path';
import {
  bundleWorkflowCode,
  DefaultLogger,
  type WorkflowBundleWithSourceMap,
} from '@temporalio/worker';

const here = (file: string) => path.join(import.meta.dirname, file);

/** Added to bundles for replays: records the commands that the code issues. */
export const recorder = here('issued-commands.ts');

/**
 * Bundles the workflow code as the sandbox runs it. Takes a few seconds.
 * @param options.forReplay with the recorder, which explains a divergence
 * @throws Error with the bundler's message
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
