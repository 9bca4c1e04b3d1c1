import { createHmac } from 'node:crypto';
import { sql } from 'kysely';
import { columnsOf } from '../columns.ts';
import type { Database } from '../database.ts';
import { holdProject } from './projects.ts';
import {
  type Holdout,
  type HoldoutScope,
  holdoutSlots,
  slotsOf,
} from '../../domain/holdout/holdout.ts';

/** The columns of a hold-out. `ends_at` is a text, because the row comes as JSON. */
export interface HoldoutColumns {
  slots: number;
  salt: string;
  topic_ids: string[] | null;
  workflow_ids: string[] | null;
  ends_at: Date | string | null;
}

/** The settings of a hold-out, as a request changes them. */
export interface HoldoutSettings {
  percent: number;
  /** null: the project never set a hold-out, so there is no salt yet. */
  salt: string | null;
  scope: HoldoutScope;
  endsAt: Date | null;
}

/** A change of a hold-out; absent fields keep their values. */
export interface HoldoutChange {
  percent?: number | undefined;
  salt?: string | undefined;
  scope?: HoldoutScope | undefined;
  endsAt?: Date | null | undefined;
}

/** A stored hold-out. `updatedAt` null: the project has set none, so no contact is held out. */
export type StoredHoldout = HoldoutSettings & { updatedAt: Date | null };

/**
 * Returns the slot of a contact. The salt is the key of the hash: another salt makes other groups,
 * and with the same salt a contact keeps its slot.
 */
export function holdoutSlot(salt: string, contactId: string): number {
  const hash = createHmac('sha256', salt).update(contactId).digest();
  return hash.readUIntBE(0, 6) % holdoutSlots;
}

export function holdoutOf(row: HoldoutColumns): Holdout {
  const { percent, scope, endsAt } = settingsOf(row);
  return { percent, scope, endsAt, slotOf: (contactId) => holdoutSlot(row.salt, contactId) };
}

function settingsOf(row: HoldoutColumns): HoldoutSettings {
  const { slots, salt, topic_ids: topicIds, workflow_ids: workflowIds, ends_at: endsAt } = row;
  return {
    percent: (slots * 100) / holdoutSlots,
    salt,
    scope: topicIds ? { topicIds } : workflowIds ? { workflowIds } : 'marketing',
    endsAt: endsAt === null ? null : new Date(endsAt),
  };
}

/** Returns the hold-out of a project; null: the project has never set one. */
export async function findHoldout(db: Database, projectId: string): Promise<Holdout | null> {
  const row = await findRow(db, projectId);
  return row ? holdoutOf(row) : null;
}

/** Reads the settings of a project's hold-out; the defaults if it has set none. */
export async function readHoldout(db: Database, projectId: string): Promise<StoredHoldout> {
  const row = await findRow(db, projectId);
  if (row) return { ...settingsOf(row), updatedAt: row.updated_at };
  return { percent: 0, salt: null, scope: 'marketing', endsAt: null, updatedAt: null };
}

function findRow(db: Database, projectId: string) {
  return db
    .selectFrom('holdout')
    .select(columnsOf('holdout'))
    .where('project_id', '=', projectId)
    .executeTakeFirst();
}

/**
 * Changes the hold-out of a project, in the caller's transaction. The salt is created with the row.
 * @throws Problem PROJECT_NOT_FOUND
 */
export async function updateHoldout(
  tx: Database,
  projectId: string,
  change: HoldoutChange,
): Promise<void> {
  await holdProject(tx, projectId);
  // First make sure that the row exists, and lock it: two concurrent changes of different fields
  // then both take effect.
  await sql`insert into holdout (project_id) values (${projectId})
    on conflict do nothing`.execute(tx);
  const { percent, salt, scope, endsAt } = change;
  await tx
    .updateTable('holdout')
    .set({
      ...(percent === undefined ? {} : { slots: slotsOf(percent) }),
      ...(salt === undefined ? {} : { salt }),
      ...(scope === undefined ? {} : columnsOfScope(scope)),
      ...(endsAt === undefined ? {} : { ends_at: endsAt }),
      updated_at: sql<Date>`clock_timestamp()`,
    })
    .where('project_id', '=', projectId)
    .execute();
}

function columnsOfScope(scope: HoldoutScope) {
  return {
    topic_ids: typeof scope === 'object' && 'topicIds' in scope ? [...scope.topicIds] : null,
    workflow_ids:
      typeof scope === 'object' && 'workflowIds' in scope ? [...scope.workflowIds] : null,
  };
}
