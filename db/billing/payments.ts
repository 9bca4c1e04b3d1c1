import { sql } from 'kysely';
import type { Database } from '../database.ts';
import { deleteInPages } from '../pages.ts';

/** The payment provider's data about projects. */

/** Records an event of the provider. False: it was handled before. */
export async function insertPaymentReceipt(tx: Database, eventId: string): Promise<boolean> {
  const row = await tx
    .insertInto('payment_receipt')
    .values({ event_id: eventId })
    .onConflict((conflict) => conflict.doNothing())
    .returning('event_id')
    .executeTakeFirst();
  return row !== undefined;
}

/** Serializes the events of one customer. */
export async function lockCustomer(tx: Database, customer: string): Promise<void> {
  await sql`select pg_advisory_xact_lock(hashtextextended(${`customer ${customer}`}, 0))`.execute(
    tx,
  );
}

/** Deletes events that the provider no longer repeats. */
export async function deleteOldPaymentReceipts(db: Database): Promise<void> {
  const where = sql<boolean>`created_at < now() - interval '30 days'`;
  await deleteInPages(db, { table: 'payment_receipt', where, rows: 5000 });
}

/** The project of a customer. */
export async function findProjectOfCustomer(
  db: Database,
  customer: string,
): Promise<{ id: string; name: string; subscription: string | null } | undefined> {
  return db
    .selectFrom('project')
    .select(['id', 'name', 'subscription'])
    .where('customer', '=', customer)
    .where('removal', 'is', null)
    .orderBy('created_at')
    .executeTakeFirst();
}

/** The subscription of a project. `publicId`: the id used in the checkout. */
export async function findSubscriber(
  db: Database,
  publicId: string,
): Promise<{ subscription: string | null } | undefined> {
  return db
    .selectFrom('project')
    .select('subscription')
    .where(sql<boolean>`coalesce(public_id, id) = ${publicId}`)
    .where('removal', 'is', null)
    .executeTakeFirst();
}

/**
 * Makes a project a customer. False: its subscription is not `before` any more, or it is gone.
 * `publicId`: as above.
 */
export async function updateCustomer(
  tx: Database,
  publicId: string,
  before: string | null,
  { customer, subscription }: { customer: string; subscription: string | null },
): Promise<boolean> {
  const updated = await tx
    .updateTable('project')
    .set({
      customer,
      ...(subscription === null ? {} : { subscription }),
      updated_at: sql<Date>`now()`,
    })
    .where(sql<boolean>`coalesce(public_id, id) = ${publicId}`)
    .where('removal', 'is', null)
    .where('subscription', 'is not distinct from', before)
    .returning('id')
    .executeTakeFirst();
  return updated !== undefined;
}

/** Stores the subscription of a customer. */
export async function updateSubscription(
  tx: Database,
  customer: string,
  subscription: string,
): Promise<void> {
  await tx
    .updateTable('project')
    .set({ subscription, updated_at: sql<Date>`now()` })
    .where('customer', '=', customer)
    .where('removal', 'is', null)
    .where('subscription', 'is distinct from', subscription)
    .execute();
}

/** Records that a subscription has ended; its limits are removed. */
export async function deleteSubscription(
  tx: Database,
  customer: string,
  subscription: string,
): Promise<void> {
  await tx
    .updateTable('project')
    .set({
      subscription: null,
      billing_limit_workflows: null,
      billing_limit_campaigns: null,
      billing_limit_transactional: null,
      billing_limit_inbound: null,
      updated_at: sql<Date>`now()`,
    })
    .where('customer', '=', customer)
    .where('subscription', '=', subscription)
    .where('removal', 'is', null)
    .execute();
}
