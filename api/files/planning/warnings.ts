import { findProject } from '../../../db/projects/projects.ts';
import { findSecrets } from '../../../db/projects/secrets.ts';
import { found } from '../../../domain/errors.ts';
import { placeIn } from '../../../domain/files/places.ts';
import { markSecrets } from '../../../domain/secrets/in-templates.ts';
import { warningCodes } from '../../../domain/template/warnings.ts';
import type { Services } from '../../services/services.ts';
import { findWarningsApart } from '../apart/read-files.ts';
import { nameInList } from '../reading/document.ts';
import type { ComparedChange } from './compare.ts';

/** Warnings about changed files: probable mistakes that are not refused. */

export const planWarningCodes = ['unknown_secret', ...warningCodes] as const;

export interface PlanWarning {
  code: (typeof planWarningCodes)[number];
  path: string;
  /** Dot path in the file. */
  at: string;
  message: string;
}

/** Maximum number of warnings of a plan. */
const warningsMax = 1_000;
/** Number of templates that are rendered in one task. */
const pageSize = 25;
/** Milliseconds for which templates are rendered. The rest of them gets no warnings. */
const renderingMs = 5_000;

/** Finds the warnings about the files of changes, by path. */
export async function findPlanWarnings(
  services: Pick<Services, 'db' | 'config'>,
  projectId: string,
  changes: readonly ComparedChange[],
): Promise<PlanWarning[]> {
  const warnings = await findUnknownSecrets(services, projectId, changes);
  const templates = changes.filter(({ change }) => change.kind === 'template');
  const project = found('PROJECT', projectId, await findProject(services.db, projectId));
  const owner = { projectId, apiUrl: services.config.apiUrl, locale: project.language };
  const end = Date.now() + renderingMs;
  for (let at = 0; at < templates.length; at += pageSize) {
    if (warnings.length >= warningsMax || Date.now() > end) break;
    warnings.push(...(await findTemplateWarnings(owner, templates.slice(at, at + pageSize))));
  }
  return warnings
    .slice(0, warningsMax)
    .toSorted((one, other) => (one.path < other.path ? -1 : one.path > other.path ? 1 : 0));
}

async function findUnknownSecrets(
  { db }: Pick<Services, 'db'>,
  projectId: string,
  changes: readonly ComparedChange[],
): Promise<PlanWarning[]> {
  const mentions = changes.flatMap(({ object }) => {
    // The value as it is in the file: the value of the change hides headers.
    if (object === null) return [];
    const { kind, path, value } = object;
    if (kind === 'event-subscription') return secretsIn(value['headers'], 'headers', path);
    return kind === 'workflow' ? secretsOfSteps(value['steps'] ?? [], path) : [];
  });
  const names = [...new Set(mentions.map(({ name }) => name))];
  const known = new Set((await findSecrets(db, projectId, names)).map(({ name }) => name));
  return mentions
    .filter(({ name }) => !known.has(name))
    .map(({ name, path, at }) => ({
      code: 'unknown_secret',
      path,
      at,
      message: `The project has no secret ${name}. Set it with PUT /secrets/${name}.`,
    }));
}

interface SecretMention {
  name: string;
  path: string;
  at: string;
}

function secretsOfSteps(steps: unknown, path: string): SecretMention[] {
  return (steps as { config?: Record<string, unknown> }[]).flatMap((step, index) => {
    const place = placeIn('steps', nameInList(step, index, ['steps']));
    return ['url', 'headers', 'body'].flatMap((name) =>
      secretsIn(step.config?.[name], `${place}.config.${name}`, path),
    );
  });
}

/** Returns the secrets in the texts of a value. */
function secretsIn(value: unknown, at: string, path: string): SecretMention[] {
  if (typeof value === 'string') {
    const names = [...new Set(markSecrets(value, '').names)];
    return names.map((name) => ({ name, path, at }));
  }
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([name, inner]) =>
    secretsIn(inner, placeIn(at, name), path),
  );
}

/**
 * Returns the warnings of templates. Unknown variables are none here, because only a contact has
 * the variables.
 */
async function findTemplateWarnings(
  { projectId, apiUrl, locale }: { projectId: string; apiUrl: string; locale: string },
  changes: readonly ComparedChange[],
): Promise<PlanWarning[]> {
  const given = changes.filter(({ value }) => value !== null);
  const templates = given.map(
    ({ value }) => value as { subject: string; body: string; type: string },
  );
  const found = await findWarningsApart(projectId, { templates, apiUrl, locale });
  return given.flatMap(({ change: { path } }, index) =>
    (found[index] ?? [])
      .filter(({ code }) => code !== 'unknown_variable')
      .map(({ code, message, line }) => {
        const at = message.startsWith('In the subject: ') ? 'subject' : 'body';
        const place = line === null ? '' : ` (line ${line} of the ${at})`;
        return { code, path: path ?? '', at, message: `${message}${place}` };
      }),
  );
}
