import type { Plan } from '../../everpost.ts';
import type { Call } from '../frame/command.ts';
import { type ExitCode, exitCodes, refused } from '../frame/failure.ts';
import { planLines } from './plan-text.ts';
import { pruneOption } from './plans.ts';
import { repeated } from './repeated.ts';

/** Applies plans, after asking. */

export const applyOptions = {
  prune: pruneOption,
  migrate: {
    type: 'string',
    choices: ['none', 'auto'],
    summary: 'auto: move the people inside changed workflows to the new version; default: none',
  },
  note: { type: 'string', value: 'TEXT', summary: 'A note for the list of applied plans' },
  yes: { type: 'boolean', summary: 'Apply without asking' },
} as const;

type ApplyCall = Call<typeof applyOptions>;

/** Shows a plan, asks, and applies it. */
export async function applyPlan(call: ApplyCall, plan: Plan, profile?: string): Promise<ExitCode> {
  const { options, output, questions, signal } = call;
  const isNew = plan.state === 'open';
  if (isNew && plan.changes.length === 0) {
    output.result(plan, () => planLines(plan));
    return exitCodes.done;
  }
  if (isNew && !options.yes) {
    for (const line of planLines(plan)) output.note(line);
    const isSure = await questions.confirm(`Apply to ${plan.project.name}?`, 'Use --yes');
    if (!isSure) throw refused('NOT_CONFIRMED', 'Nothing was changed.');
  }
  const { migrate, note } = options;
  const everpost = await call.api(profile);
  const body = {
    planId: plan.id,
    ...(migrate === undefined ? {} : { migrate: migrate as 'none' | 'auto' }),
    ...(note === undefined ? {} : { note }),
  };
  const applied = await repeated(call, () => everpost.post('/apply', { body, signal }));
  output.result(applied, () => [
    ...(options.yes ? planLines(applied) : []),
    `Applied to ${applied.project.name}.`,
    ...(applied.result?.jobs ?? []).map(
      ({ key, jobId }) => `The people inside workflow/${key} are moved by ${jobId}.`,
    ),
  ]);
  return exitCodes.done;
}
