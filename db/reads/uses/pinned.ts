import { sql } from 'kysely';
import type { Database } from '../../database.ts';
import { pinnedParts } from '../../sql/pinned-versions.ts';
import type { ExitRule } from '../../../domain/workflow/exit-rules.ts';
import type { GraphStep } from '../../../domain/workflow/graph.ts';

/** A step or an exit rule of a version with active executions. */
export interface PinnedPart {
  workflowId: string;
  workflowName: string;
  step: GraphStep | null;
  rule: ExitRule | null;
}

/**
 * Lists the parts of a project's versions whose JSON contains one of these texts. The caller checks
 * if the text really refers to its object.
 */
export async function listPinned(
  db: Database,
  projectId: string,
  texts: readonly string[],
): Promise<PinnedPart[]> {
  const { rows } = await sql<PinnedPart>`
    select workflow_id as "workflowId", workflow_name as "workflowName", step, rule
      from ${pinnedParts(projectId)}
      where exists (select from unnest(${textsInJson(texts)}::text[]) as written
        where strpos(coalesce(step, rule)::text, written) > 0)
      order by created_at, workflow_id`.execute(db);
  return rows;
}

/** Returns the texts in their JSON form, without the quotes. */
export function textsInJson(texts: readonly string[]): string[] {
  return texts.map((text) => JSON.stringify(text).slice(1, -1));
}

export interface StepUse {
  id: string;
  name: string;
  workflowId: string;
  workflowName: string;
}

/** Lists each step once: first those of the edited graphs, then those that only a version has. */
export function withPinned(
  drawn: readonly StepUse[],
  pinned: readonly PinnedPart[],
  isUse: (step: GraphStep) => boolean,
): StepUse[] {
  const uses = pinned.flatMap(({ step, workflowId, workflowName }) =>
    step && isUse(step) ? [{ id: step.id, name: step.name, workflowId, workflowName }] : [],
  );
  return [...new Map([...drawn, ...uses].map((use) => [use.id, use])).values()];
}
