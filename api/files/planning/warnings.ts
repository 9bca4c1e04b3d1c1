import { randomUUID } from 'node:crypto';
import { findSecrets } from '../../../db/projects/secrets.ts';
import { markSecrets } from '../../../domain/secrets/in-templates.ts';
import { findMailWarnings, warningCodes } from '../../../domain/template/warnings.ts';
import type { Services } from '../../services/services.ts';
import { renderFor } from '../../templates/rendering.ts';
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
/** Maximum number of templates that are rendered at the same time. */
const renderedAtOnce = 4;
/** Milliseconds for which templates are rendered. The rest of them gets no warnings. */
const renderingMs = 5_000;

/** Finds the warnings about the files of changes, by path. */
export async function findPlanWarnings(
  services: Pick<Services, 'db' | 'config' | 'renderer'>,
  projectId: string,
  changes: readonly ComparedChange[],
): Promise<PlanWarning[]> {
  const warnings = await findUnknownSecrets(services, projectId, changes);
  const templates = changes.filter(({ change }) => change.kind === 'template');
  const end = Date.now() + renderingMs;
  for (let at = 0; at < templates.length; at += renderedAtOnce) {
    if (warnings.length >= warningsMax || Date.now() > end) break;
    const page = templates.slice(at, at + renderedAtOnce);
    const found = page.map((change) => findTemplateWarnings(services, projectId, change));
    warnings.push(...(await Promise.all(found)).flat());
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
  const mentions = changes.flatMap(({ change: { kind, path }, value }) => {
    if (value === null || path === null) return [];
    if (kind === 'event-subscription') return secretsIn(value['headers'], 'headers', path);
    return kind === 'workflow' ? secretsOfSteps(value['steps'], path) : [];
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
  return (steps as { key: string; config?: Record<string, unknown> }[]).flatMap(
    ({ key, config = {} }) =>
      ['url', 'headers', 'body'].flatMap((name) =>
        secretsIn(config[name], `steps.${key}.config.${name}`, path),
      ),
  );
}

/** Returns the secrets in the texts of a value. */
function secretsIn(value: unknown, at: string, path: string): SecretMention[] {
  if (typeof value === 'string') {
    const names = [...new Set(markSecrets(value, '').names)];
    return names.map((name) => ({ name, path, at }));
  }
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([name, inner]) => secretsIn(inner, `${at}.${name}`, path));
}

/**
 * Returns the warnings of a template. Unknown variables are none here, because only a contact has
 * the variables.
 */
async function findTemplateWarnings(
  services: Pick<Services, 'db' | 'config' | 'renderer'>,
  projectId: string,
  { change: { path }, value }: ComparedChange,
): Promise<PlanWarning[]> {
  if (value === null || path === null) return [];
  const { subject, body, type } = value as { subject: string; body: string; type: string };
  const contact = { id: randomUUID(), email: '', subscribed: true, data: null };
  const mail = await renderFor(services, projectId, { subject, body, type }, { contact, data: {} });
  const warnings = await findMailWarnings(services.renderer, { subject, body }, mail);
  return warnings
    .filter(({ code }) => code !== 'unknown_variable')
    .map(({ code, message, line }) => {
      const at = message.startsWith('In the subject: ') ? 'subject' : 'body';
      const place = line === null ? '' : ` (line ${line} of the ${at})`;
      return { code, path, at, message: `${message}${place}` };
    });
}
