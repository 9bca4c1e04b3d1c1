import { sql } from 'kysely';
import type { Database } from '../database.ts';

/** Projects as customers of the payment provider. */

/**
 * Records that an event of the payment provider is being handled. Returns false when it was handled
 * before.
 */
export async function insertPaymentReceipt(tx: Database, eventId: string): Promise<boolean> {
  const row = await tx
    .insertInto('payment_receipt')
    .values({ event_id: eventId })
    .onConflict((conflict) => conflict.doNothing())
    .returning('event_id')
    .executeTakeFirst();
  return row !== undefined;
}

/** Locks a customer, so that the customer's events are handled one after the other. */
export async function lockCustomer(tx: Database, customer: string): Promise<void> {
  await sql`select pg_advisory_xact_lock(hashtextextended(${`customer ${customer}`}, 0))`.execute(
    tx,
  );
}

/** A project that pays. */
export interface Payer {
  id: string;
  name: string;
  subscription: string | null;
  /**
   * The subscription whose invoices the project must pay: the current one, or the last that ended.
   */
  billedBy: string | null;
}

export async function findProjectOfCustomer(
  db: Database,
  customer: string,
): Promise<Payer | undefined> {
  return db
    .selectFrom('project')
    .select(['id', 'name', 'subscription'])
    .select(sql<string | null>`coalesce(subscription, last_subscription)`.as('billedBy'))
    .where('customer', '=', customer)
    .where('removal', 'is', null)
    .orderBy('created_at')
    .executeTakeFirst();
}

/** Returns the subscription of a project. `publicId`: the id that was used in the checkout. */
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
 * Makes a project a customer. Returns false when its subscription is no longer `before`, or the
 * project is deleted. `publicId`: the project id that was used in the checkout.
 */
export async function updateCustomer(
  tx: Database,
  publicId: string,
  before: string | null,
  {
    customer,
    subscription,
    isOver,
  }: {
    customer: string;
    subscription: string | null;
    /** True if the subscription has ended already. */
    isOver: boolean;
  },
): Promise<boolean> {
  const column = isOver ? 'last_subscription' : 'subscription';
  const updated = await tx
    .updateTable('project')
    .set({
      customer,
      ...(subscription === null ? {} : { [column]: subscription }),
      updated_at: sql<Date>`now()`,
    })
    .where(sql<boolean>`coalesce(public_id, id) = ${publicId}`)
    .where('removal', 'is', null)
    .where('subscription', 'is not distinct from', before)
    .returning('id')
    .executeTakeFirst();
  return updated !== undefined;
}

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

/** Records that a subscription has ended, and removes the limits that the project has set. */
export async function deleteSubscription(
  tx: Database,
  customer: string,
  subscription: string,
): Promise<void> {
  await tx
    .updateTable('project')
    .set({
      subscription: null,
      last_subscription: subscription,
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
