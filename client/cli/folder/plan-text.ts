import type { Plan, PlanChange } from '../../everpost.ts';
import { bold, dim, green, red, type Text, yellow } from '../frame/text.ts';

/** Returns a plan as lines: each change, and for how many people it is one. */
export function planLines({ project, changes, warnings, summary }: Plan): Text[] {
  const { create, update, delete: deleted, unchanged, unmanaged, blocked } = summary;
  const counts = [
    `${create} to create`,
    `${update} to update`,
    `${deleted} to delete`,
    `${unchanged} unchanged`,
    ...(unmanaged > 0 ? [`${unmanaged} without file`] : []),
    ...(blocked > 0 ? [`${blocked} blocked`] : []),
  ];
  return [
    [bold('Project: '), project.name],
    ...changes.flatMap(changeLines),
    ...warnings.map(({ path, at, message }): Text => [
      yellow('Warning: '),
      `${path}#${at}: ${message}`,
    ]),
    changes.length === 0 ? 'No changes.' : `${counts.join(', ')}.`,
  ];
}

const actions = {
  create: green('+ create '),
  update: yellow('~ update '),
  delete: red('- delete '),
} as const;

function changeLines(change: PlanChange): Text[] {
  const { action, kind, key, name, fields, fieldCount, newVersion, people, usedBy, blocked } =
    change;
  const version = newVersion === null ? '' : `, version ${newVersion}`;
  const shown = action === 'update' ? fields : [];
  const more = fieldCount - shown.length;
  return [
    [actions[action], bold(`${kind}/${key}`), `  ${name}${version}`],
    ...shown.map(
      ({ at, before, after }) => `    ${at}: ${valueText(before)} → ${valueText(after)}`,
    ),
    ...(action === 'update' && more > 0 ? [dim(`    … and ${more} more fields`)] : []),
    ...(people === null ? [] : [`    ${peopleText(people)}`]),
    ...usedBy.map((user) => dim(`    used by ${user.kind}/${user.key}${insideText(user.active)}`)),
    ...(blocked ? [[red('    blocked: '), `${blocked.code} ${valueText(blocked.details)}`]] : []),
  ];
}

const textMax = 80;

function valueText(value: unknown): string {
  if (value === null || value === undefined) return '(none)';
  const text = JSON.stringify(value);
  return text.length > textMax ? `${text.slice(0, textMax)}…` : text;
}

function insideText(active: number): string {
  return active === 0 ? '' : ` (${active} people inside)`;
}

function peopleText({
  active,
  same,
  differs,
  unmappable,
}: NonNullable<PlanChange['people']>): string {
  if (active === 0) return 'no people inside';
  return (
    `${active} people inside: ${same} go on as before, ${differs} would go another way, ` +
    `${unmappable} have no place in the new graph`
  );
}
