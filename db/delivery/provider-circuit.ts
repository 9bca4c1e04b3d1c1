import { sql } from 'kysely';
import type { Database } from '../database.ts';
import { anyOf, millisecondsUntil } from '../expressions.ts';
import {
  firstRetryMs,
  probeLeaseMs,
  providerFailuresMax,
  retryDelayMsMax,
} from '../../domain/runs/retry.ts';

/** The circuit of one mail provider, shared by all workers. */
export interface Circuit {
  failures: number;
  /**
   * Milliseconds until the next attempt is allowed (0: now); null: the circuit is closed, so all
   * mail may be sent.
   */
  waitMs: number | null;
}

export async function readCircuit(db: Database, provider: string): Promise<Circuit> {
  return (await readCircuits(db, [provider])).get(provider) ?? closedCircuit;
}

const closedCircuit: Circuit = { failures: 0, waitMs: null };

/** Returns the circuits of several providers, by provider, in one statement. */
export async function readCircuits(
  db: Database,
  providers: readonly string[],
): Promise<Map<string, Circuit>> {
  const { rows } = await sql<Circuit & { provider: string }>`
    select provider, failures, ${millisecondsUntil(sql`next_probe_at`)} as "waitMs"
      from provider_circuit where provider = any(${providers}::text[])`.execute(db);
  const known = new Map(rows.map((row) => [row.provider, row]));
  return new Map(providers.map((provider) => [provider, known.get(provider) ?? closedCircuit]));
}

/** Returns the time of the next attempt for each of these providers whose circuit is open. */
export async function findOpenCircuits(
  db: Database,
  providers: readonly string[],
): Promise<ReadonlyMap<string, Date>> {
  const rows = await db
    .selectFrom('provider_circuit')
    .select(['provider', 'next_probe_at as nextProbeAt'])
    .where('provider', '=', anyOf(providers, 'text'))
    .execute();
  return new Map(
    rows.flatMap(({ provider, nextProbeAt }) =>
      nextProbeAt === null ? [] : [[provider, nextProbeAt] as const],
    ),
  );
}

/**
 * Claims the next probe of an open circuit. Returns true for one caller. If the process of this
 * caller dies, another one may claim the probe after `probeLeaseMs`.
 */
export async function claimProbe(db: Database, provider: string): Promise<boolean> {
  const { numAffectedRows } = await sql`
    update provider_circuit set next_probe_at = ${inMs(sql`${probeLeaseMs}`)}
      where provider = ${provider} and next_probe_at <= now()`.execute(db);
  return numAffectedRows === 1n;
}

/**
 * Makes the next probe due, because the claimed probe had no result, or the provider's settings may
 * have changed.
 */
export async function probeSoon(db: Database, provider: string): Promise<void> {
  await sql`
    update provider_circuit set next_probe_at = now()
      where provider = ${provider} and opened_at is not null`.execute(db);
}

const inMs = (ms: ReturnType<typeof sql>) =>
  sql<Date>`now() + make_interval(secs => ${ms}::float8 / 1000)`;

/**
 * Records that the provider could not take the last `count` mails. After `providerFailuresMax`
 * consecutive failures, the circuit opens, and the first probe is due after `firstRetryMs`. After
 * each failed probe the pause doubles, up to `retryDelayMsMax`. Returns the pause in milliseconds,
 * or null when the circuit is closed.
 * @param given.isProbe true if the failed mail was a probe of an open circuit.
 * @param given.hasAccepted true if the provider took mail shortly before these failures. Earlier
 * failures then do not count.
 */
export async function recordProviderFailures(
  db: Database,
  provider: string,
  given: { count: number; isProbe: boolean; hasAccepted: boolean },
): Promise<number | null> {
  const first = inMs(sql`${firstRetryMs}`);
  const opens = (failures: ReturnType<typeof sql>) =>
    sql`${failures} >= ${providerFailuresMax}::int`;
  const before = given.hasAccepted ? sql`0` : sql`known.failures`;
  const failures = sql`(${before} + ${given.count}::int)`;
  const pause = sql`least(${retryDelayMsMax}, ${firstRetryMs} * 2 ^ least(known.probes + 1, 30))`;
  const isNew = opens(sql`${given.count}::int`);
  const { rows } = await sql<{ ms: number | null }>`
    insert into provider_circuit as known (provider, failures, opened_at, next_probe_at)
      values (${provider}, ${given.count}, case when ${isNew} then now() end,
        case when ${isNew} then ${first} end)
      on conflict (provider) do update set
        failures = ${failures},
        opened_at = coalesce(known.opened_at, case when ${opens(failures)} then now() end),
        probes = case when known.opened_at is null then 0
          else known.probes + ${given.isProbe}::boolean::int end,
        next_probe_at = case
          when known.opened_at is null then case when ${opens(failures)} then ${first} end
          when ${given.isProbe}::boolean then ${inMs(pause)}
          else known.next_probe_at end
      returning ${millisecondsUntil(sql`next_probe_at`)} as ms`.execute(db);
  return rows[0]?.ms ?? null;
}

/**
 * Closes the circuit, because the provider takes mail. Returns true if the circuit was open, so
 * that mail was waiting.
 */
export async function closeCircuit(db: Database, provider: string): Promise<boolean> {
  const { rows } = await sql<{ was_open: boolean }>`
    with known as (
      select provider, opened_at from provider_circuit where provider = ${provider} for update
    )
    update provider_circuit
      set failures = 0, opened_at = null, probes = 0, next_probe_at = null
      from known where provider_circuit.provider = known.provider
      returning known.opened_at is not null as was_open`.execute(db);
  return rows[0]?.was_open ?? false;
}

/** Deletes the circuits of deleted providers. */
export async function deleteCircuits(tx: Database, providers: readonly string[]): Promise<void> {
  await tx
    .deleteFrom('provider_circuit')
    .where('provider', '=', anyOf(providers, 'text'))
    .execute();
}
