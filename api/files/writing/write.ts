import { setImmediate } from 'node:timers/promises';
import { sql } from 'kysely';
import type { Database } from '../../../db/database.ts';
import { setFileKeys } from '../../../db/files/objects.ts';
import { listSegmentReferences, lockSegmentReferences } from '../../../db/segments/segments.ts';
import { findTemplate } from '../../../db/templates/templates.ts';
import { Problem } from '../../../domain/errors.ts';
import { isKeyedKind, type FileKind } from '../../../domain/files/kinds.ts';
import { inReferenceOrder } from '../../../domain/files/reference-order.ts';
import { segmentIdsOf } from '../../../domain/filter/filter.ts';
import { segmentProblems } from '../../../domain/filter/references.ts';
import { givenCondition } from '../../segments/input.ts';
import { refuseTemplateChange } from '../../templates/changes.ts';
import type { ChangeOutcome, PlannedChange, WriteChanges } from '../changes.ts';
import { fieldOfProblem, type FileIds } from '../reading/objects.ts';
import { requestOf } from '../reading/requests.ts';
import { type Bodies, type Setter, setters, type Writing } from './setters.ts';

/** Objects are stored in this order, because each kind refers only to kinds before it. */
const storingOrder: readonly FileKind[] = [
  'topic',
  'template',
  'segment',
  'workflow',
  'event-subscription',
  'send-policy',
  'consent-policy',
];

/** Subscriptions are deleted before new ones are stored, so that there is room for these. */
const deletedFirst: readonly FileKind[] = ['event-subscription'];
const deletedLast: readonly FileKind[] = ['workflow', 'segment', 'template', 'topic'];

/** Makes the changes of a plan: see `WriteChanges`. */
export const writeChanges: WriteChanges = async (given, changes, ids, options) => {
  const { collects, beforeDeleting } = options;
  const writer = new Writer({ ...given, leavingTopics: 0 }, collects);
  await writer.readRequests(changes, ids);
  await writer.rename(changes);
  await writer.delete(changes, deletedFirst);
  for (const kind of storingOrder) await writer.store(changes, kind);
  await writer.checkTemplates(changes);
  await beforeDeleting?.(writer.outcomes);
  await writer.delete(changes, deletedLast);
  return writer.outcomes;
};

class Writer {
  readonly outcomes = new Map<PlannedChange, ChangeOutcome>();
  readonly #writing: Writing;
  readonly #collects: boolean;
  /** The checked bodies of the objects to store. */
  readonly #bodies = new Map<PlannedChange, Bodies[FileKind]>();

  constructor(writing: Writing, collects: boolean) {
    this.#writing = writing;
    this.#collects = collects;
  }

  /** Makes the requests of files. An object with problems is not stored. */
  async readRequests(changes: readonly PlannedChange[], ids: FileIds): Promise<void> {
    for (const planned of changes) {
      if (!planned.object) continue;
      this.#writing.checkTime();
      const made = requestOf(planned.object, ids, planned.stored);
      // Other requests of this process run in between.
      await setImmediate();
      if ('request' in made) {
        this.#bodies.set(planned, made.request.body);
        continue;
      }
      const errors = made.problems.map((problem) => {
        const { code, message } = problem;
        return { field: fieldOfProblem(problem), code, message };
      });
      await this.#attempt(planned, () => {
        throw new Problem('VALIDATION_ERROR', { errors });
      });
    }
  }

  /** Gives stored objects the keys of their files. */
  async rename(changes: readonly PlannedChange[]): Promise<void> {
    const { tx } = this.#writing;
    for (const kind of storingOrder.filter(isKeyedKind)) {
      const updates = ofKind(changes, kind).filter(({ change }) => change.action === 'update');
      const keys = updates.flatMap(({ id, change: { key } }) => (id === null ? [] : [{ id, key }]));
      await setFileKeys(tx, kind, keys);
    }
  }

  /** Creates and updates the objects of a kind. */
  async store(changes: readonly PlannedChange[], kind: FileKind): Promise<void> {
    const leaving = ofKind(changes, 'topic').filter(({ change }) => change.action === 'delete');
    this.#writing.leavingTopics = leaving.length;
    const given = ofKind(changes, kind).filter((planned) => this.#bodies.has(planned));
    for (const planned of kind === 'segment' ? await this.#sortSegments(given) : given) {
      await this.#attempt(planned, () => this.#storeOne(planned));
    }
  }

  async #storeOne(planned: PlannedChange): Promise<number | null> {
    const { kind, action, key } = planned.change;
    const id = planned.id ?? '';
    const body = this.#bodies.get(planned);
    const setter = setters[kind] as unknown as Setter<unknown>;
    if (action === 'update') return (await setter.update(this.#writing, body, id)) ?? null;
    const version = await setter.create(this.#writing, body, id);
    if (isKeyedKind(kind)) await setFileKeys(this.#writing.tx, kind, [{ id, key }]);
    return version ?? null;
  }

  /**
   * Returns segments so that each comes after those that its condition names. Refuses those whose
   * conditions name each other.
   */
  async #sortSegments(segments: readonly PlannedChange[]): Promise<PlannedChange[]> {
    const items = segments.map((planned) => {
      const given = givenCondition(this.#bodies.get(planned) as Bodies['segment']);
      const refersTo = given ? segmentIdsOf(given.condition) : [];
      return { planned, id: planned.id ?? '', refersTo, given };
    });
    const { ordered, circular } = inReferenceOrder(items);
    if (circular.length > 0) {
      const { tx, projectId } = this.#writing;
      const stored = await listSegmentReferences(tx, projectId, []);
      const references = new Map([...stored, ...items.map(referencesOf)]);
      for (const { planned, id, given } of circular) {
        const mentions = (given?.mentions ?? []).map((mention) => ({
          ...mention,
          field: `${given?.field}.${mention.field}`,
        }));
        const errors = segmentProblems(mentions, references, id);
        if (errors.length === 0) continue;
        await this.#attempt(planned, () => {
          throw new Problem('VALIDATION_ERROR', { errors });
        });
      }
    }
    return [...ordered, ...circular]
      .map(({ planned }) => planned)
      .filter((planned) => !this.outcomes.has(planned));
  }

  /**
   * Refuses changes of templates that contradict the consent policy, once this is stored. Both may
   * change together.
   */
  async checkTemplates(changes: readonly PlannedChange[]): Promise<void> {
    const { tx, projectId } = this.#writing;
    for (const planned of ofKind(changes, 'template')) {
      const body = this.#bodies.get(planned) as Bodies['template'] | undefined;
      const { stored } = planned;
      if (!body || !stored || planned.id === null) continue;
      const { type, from = null } = stored.value as { type: string; from?: string | null };
      if (type === body.type && (from === null || body.from)) continue;
      const row = await findTemplate(tx, projectId, planned.id);
      if (!row) continue;
      await this.#attempt(planned, async () => {
        await refuseTemplateChange(tx, { ...row, type, from_email: from }, body);
        return null;
      });
    }
  }

  /** Deletes the objects of some kinds. */
  async delete(changes: readonly PlannedChange[], kinds: readonly FileKind[]): Promise<void> {
    for (const kind of kinds) {
      const deleted = ofKind(changes, kind).filter(({ change }) => change.action === 'delete');
      for (const planned of kind === 'segment' ? await this.#sortDeleted(deleted) : deleted) {
        await this.#attempt(planned, async () => {
          await setters[kind].delete?.(this.#writing, planned.id ?? '');
          return null;
        });
      }
    }
  }

  /** Returns segments so that each comes before those that its condition names. */
  async #sortDeleted(segments: readonly PlannedChange[]): Promise<PlannedChange[]> {
    if (segments.length === 0) return [];
    const { tx, projectId } = this.#writing;
    await lockSegmentReferences(tx, projectId);
    const references = await listSegmentReferences(tx, projectId, []);
    const items = segments.map((planned) => {
      const id = planned.id ?? '';
      return { planned, id, refersTo: references.get(id) ?? [] };
    });
    return inReferenceOrder(items)
      .ordered.toReversed()
      .map(({ planned }) => planned);
  }

  /** Runs a part of a change. Notes its version, or if problems are collected, its problem. */
  async #attempt(planned: PlannedChange, work: Work): Promise<void> {
    this.#writing.checkTime();
    if (!this.#collects) {
      this.#note(planned, { refused: null, version: await work() });
      return;
    }
    const outcome = await tryOut(this.#writing.tx, work);
    this.#note(planned, outcome);
  }

  #note(planned: PlannedChange, outcome: ChangeOutcome): void {
    const before = this.outcomes.get(planned);
    if (!before || outcome.refused) this.outcomes.set(planned, outcome);
  }
}

/** A part of a change; returns the version of a workflow that it has stored. */
type Work = () => number | null | Promise<number | null>;

/** Runs `work`, and undoes it if it throws a Problem. */
async function tryOut(tx: Database, work: Work): Promise<ChangeOutcome> {
  await sql`savepoint change_object`.execute(tx);
  try {
    const version = await work();
    await sql`release savepoint change_object`.execute(tx);
    return { refused: null, version };
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    await sql`rollback to savepoint change_object`.execute(tx);
    return { refused: error, version: null };
  }
}

function ofKind(changes: readonly PlannedChange[], kind: FileKind): PlannedChange[] {
  return changes.filter(({ change }) => change.kind === kind);
}

function referencesOf({ id, refersTo }: { id: string; refersTo: string[] }) {
  return [id, refersTo] as const;
}
