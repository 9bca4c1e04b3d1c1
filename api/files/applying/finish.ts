import type { Database } from '../../../db/database.ts';
import { releaseHeldMail } from '../../../db/delivery/releases.ts';
import type { ShownPlan } from '../../../db/files/plans.ts';
import { refreshSegment } from '../../../db/segments/members.ts';
import { findSegment } from '../../../db/segments/segments.ts';
import { Problem } from '../../../domain/errors.ts';
import type { PlanResult } from '../planning/record.ts';

/**
 * Milliseconds for which an apply itself counts the members of segments and releases held mail. The
 * periodic sweep releases the rest; other counts are made on request.
 */
const finishingMs = 5_000;

/** Does after the commit what the endpoints of changed objects also do for their answer. */
export async function finishApply(
  db: Database,
  projectId: string,
  plan: Pick<ShownPlan, 'result'>,
): Promise<void> {
  const { objects } = plan.result as unknown as PlanResult;
  const end = Date.now() + finishingMs;
  const isOver = () => Date.now() > end;
  if (objects.some(({ kind }) => kind === 'send-policy')) {
    await releaseHeldMail(db, projectId, isOver);
  }
  for (const { kind, action, id } of objects) {
    if (isOver()) return;
    if (kind === 'segment' && action !== 'delete' && id) await countMembers(db, projectId, id);
  }
}

async function countMembers(db: Database, projectId: string, id: string): Promise<void> {
  const segment = await findSegment(db, projectId, id);
  if (segment?.type !== 'DYNAMIC') return;
  try {
    await refreshSegment(db, segment, new Date());
  } catch (error) {
    // The last count stays. The condition can be stored without its count.
    if (!(error instanceof Problem)) throw error;
  }
}
