import { command, type Options } from '../frame/command.ts';
import { type ExitCode, wrongCall } from '../frame/failure.ts';
import { profileName } from '../frame/profiles.ts';
import { compareFolder } from './comparison.ts';
import type { Files } from './local-files.ts';
import { applyOptions, applyPlan } from './applying.ts';
import { planFiles } from './plans.ts';

const profileOption = { type: 'string', value: 'NAME', offers: 'profiles' } as const;

const options = {
  from: { ...profileOption, summary: 'The profile of the project to take from' },
  to: { ...profileOption, summary: 'The profile of the project to change' },
  ...applyOptions,
} as const satisfies Options;

/** Takes the objects of one project to another. */
export const promote = command({
  name: 'promote',
  operands: [],
  summary: 'Take what one project has to another project',
  description:
    'The files are those that pull would write from the first project; the variables in them get the values of the second one. The folder is not changed.',
  options,
  example: 'everpost promote --from staging --to production',
  async run(call): Promise<ExitCode> {
    const [from, to] = [call.options.from, call.options.to];
    if (from === undefined || to === undefined) throw wrongCall('promote needs --from and --to.');
    if (profileName(from, call.env) === profileName(to, call.env)) {
      throw wrongCall('--from and --to must be two profiles.');
    }
    // Without the key to the second project nothing is read from the first one.
    await call.project(to);
    const files: Files = {};
    for (const { path, remote } of await compareFolder(call, from)) {
      if (remote !== null) files[path] = remote;
    }
    const plan = await planFiles(call, { profile: to, files, prune: call.options.prune });
    return applyPlan(call, plan, to);
  },
});
