import { command } from '../frame/command.ts';
import { type ExitCode, wrongCall } from '../frame/failure.ts';
import { applyOptions, applyPlan } from './applying.ts';
import { planFolder } from './plans.ts';

/** Changes the project as the files say. */
export const apply = command({
  name: 'apply',
  operands: [{ name: 'planId', isOptional: true }],
  summary: 'Apply the files, or a plan that was made before, all or nothing',
  options: applyOptions,
  example: 'everpost apply --profile production --migrate auto --note "Spring sale"',
  async run(call): Promise<ExitCode> {
    const [id] = call.operands;
    if (id === undefined) return applyPlan(call, await planFolder(call, call.options.prune));
    if (call.options.prune !== undefined) {
      throw wrongCall('--prune is a choice of the plan. Leave it out, or leave the id out.');
    }
    if (!/^[0-9a-f-]{36}$/i.test(id)) {
      throw wrongCall(`"${id}" is no id of a plan. The last line of everpost plan --text has it.`);
    }
    const everpost = await call.api();
    const plan = await everpost.get('/plans/{id}', { path: { id }, signal: call.signal });
    return applyPlan(call, plan);
  },
});
