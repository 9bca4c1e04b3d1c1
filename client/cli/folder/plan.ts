import { command } from '../frame/command.ts';
import { type ExitCode, exitCodes } from '../frame/failure.ts';
import { planLines } from './plan-text.ts';
import { planFolder, pruneOption } from './plans.ts';

/** Shows how the files would change the project. */
export const plan = command({
  name: 'plan',
  operands: [],
  summary: 'Show what applying the files would change, and for whom',
  description: 'Nothing is changed. The plan can be applied by its id for seven days.',
  options: {
    prune: pruneOption,
    'exit-code': { type: 'boolean', summary: 'Exit with 3 if there are changes' },
  },
  example: 'everpost plan --profile production --prune',
  async run(call): Promise<ExitCode> {
    const made = await planFolder(call, call.options.prune);
    call.output.result(made, () => [...planLines(made), `Plan ${made.id}`]);
    const isDifferent = call.options['exit-code'] && made.changes.length > 0;
    return isDifferent ? exitCodes.differs : exitCodes.done;
  },
});
