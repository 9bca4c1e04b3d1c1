import { sql } from 'kysely';
import type { Database } from '../../database.ts';
import { erasureSummary } from '../../erasure/erasures.ts';
import { enqueue } from '../../outbox/outbox.ts';
import { skipDeliveriesOf } from '../../subscriptions/upkeep.ts';
import { hashSuppression } from '../../suppression/erased.ts';
import { cancelExecutions } from '../executions/cancel-executions.ts';
import { activeStatuses } from '../../workflows/executions/executions.ts';

/**
 * Begins to erase a contact, in the caller's transaction. From its commit on, the contact is in no
 * project, gets no mail, and its executions are cancelled. The run then removes its data.
 * @param options.suppress true if the address must stay on the suppression list, as a hash, so that
 *   it gets no marketing mail.
 * @returns the id of the erasure; undefined when there is no such contact
 */
export async function beginErasure(
  tx: Database,
  projectId: string,
  contactId: string,
  { suppress }: { suppress: boolean },
): Promise<string | undefined> {
  const contact = await tx
    .selectFrom('contact')
    .select(['id', 'email'])
    .where('project_id', '=', projectId)
    .where('id', '=', contactId)
    .forUpdate()
    .executeTakeFirst();
  if (!contact) return undefined;
  const executions = await tx
    .selectFrom('execution')
    .select('id')
    .where('contact_id', '=', contactId)
    .where('status', 'in', activeStatuses)
    .execute();
  await cancelExecutions(
    tx,
    executions.map(({ id }) => id),
    'contact_deleted',
  );
  const deliveries = await skipDeliveriesOf(tx, contactId);
  const suppression = await hashSuppression(tx, projectId, contact, { suppress });
  const { rows } = await sql<{ id: string }>`
    insert into erasure (owner_id, rows_of, contact_id, email, counts)
      select coalesce(public_id, id), id, ${contactId}::uuid, ${contact.email},
          ${JSON.stringify({ suppression, deliveries })}::jsonb
        from project where id = ${projectId}
      returning id`.execute(tx);
  const id = rows[0]!.id;
  await sql`update contact set project_id = ${id} where id = ${contactId}`.execute(tx);
  const input = { projectId, erasureId: id };
  await enqueue(tx, { kind: 'contactErasure', input, summary: erasureSummary });
  return id;
}
