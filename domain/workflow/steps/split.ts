import { z } from 'zod';
import { whenRight, bug } from '../../errors.ts';
import { selection } from '../../filter/selection.ts';
import { limits } from '../../limits.ts';
import { drawWeighted } from '../../drawing/weighted-draw.ts';
import { addFault, BranchNames, checkBranchIds } from './schemas.ts';
import type { StepModule } from './step.ts';

const weightMax = 1_000;
const armsMax = 10;

const SplitConfig = selection({
  arms: z
    .array(selection({ ...BranchNames, weight: z.int().min(0).max(weightMax) }))
    .min(2)
    .max(armsMax),
  /** Draws once per contact, or once per execution key. Absent: per contact. */
  by: z.enum(['contact', 'key']).optional(),
  /** Steps with the same salt draw the same arm. Absent: the salt is the id of the step. */
  salt: z.string().min(1).max(limits.nameChars).optional(),
}).superRefine(({ arms }, context) => {
  checkBranchIds(context, 'arms', arms);
  if (arms.some(({ weight }) => weight > 0)) return;
  addFault(context, ['arms'], 'custom', 'At least one arm must have a weight above 0.');
}, whenRight('arms'));

type SplitConfig = z.output<typeof SplitConfig>;
type Arm = SplitConfig['arms'][number];

/** Takes the branch that is drawn for the contact, or for the key of the execution. */
export const split: StepModule<SplitConfig> = {
  config: SplitConfig,
  ways: 'branches',
  branches: ({ arms }) =>
    arms.map(({ id, name, weight }) => ({ id, name: `${name} · ${shareText(weight, arms)}` })),
  async play({ id: stepId, config }, { subject }) {
    const { arms, salt = stepId } = config;
    const key = config.by === 'key' ? subject.key : null;
    const { id, name } = drawArm(arms, salt, key ?? subject.contact);
    const output = { arm: id, name, by: key === null ? 'contact' : 'key' };
    return { kind: 'branch', branch: id, output };
  },
  explain: (_config, { arm, name, by }) =>
    arm === undefined ? null : `drew the arm "${String(name)}" for its ${String(by)}`,
  label: 'SPLIT',
  examples: [
    {
      name: 'Which subject?',
      config: {
        arms: [
          { id: 'short', name: 'Short', weight: 50 },
          { id: 'long', name: 'Long', weight: 50 },
        ],
      },
    },
  ],
};

/**
 * Returns the arm that is drawn for a subject.
 * @param subject id of the contact, or key of the execution
 */
export function drawArm(arms: readonly Arm[], salt: string, subject: string): Arm {
  const arm = drawWeighted(arms, salt, subject);
  if (!arm) throw bug('No arm has a weight above 0.');
  return arm;
}

/** Returns a config of SPLIT with which every subject gets this arm. */
export function forceArm(config: SplitConfig, armId: string): SplitConfig {
  const arms = config.arms.map((arm) => ({ ...arm, weight: arm.id === armId ? weightMax : 0 }));
  return { ...config, arms };
}

/** Returns a weight as its share of all weights, in percent with one decimal. */
function shareText(weight: number, arms: readonly Arm[]): string {
  const percent = (100 * weight) / arms.reduce((sum, arm) => sum + arm.weight, 0);
  if (percent > 0 && percent < 0.1) return '< 0.1 %';
  return `${Math.round(percent * 10) / 10} %`;
}
