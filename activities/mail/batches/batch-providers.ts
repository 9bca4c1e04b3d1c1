import type { Chosen, ProviderChooser } from '../../../db/transactions/mail/provider-claims.ts';
import { claimProbe, readCircuits } from '../../../db/delivery/provider-circuit.ts';
import {
  boundChoice,
  chooseProviders,
  decideProvider,
  type Obstacle,
  type ProviderChoice,
  type ProviderDecision,
  type RoutedDetail,
  type Routes,
  type SkippedProvider,
} from '../../../domain/routing/routing.ts';
import { defaultProviderId } from '../../../domain/provider/provider.ts';
import { firstRetryMs, providerFailuresMax } from '../../../domain/runs/retry.ts';
import type { SendOutcome } from '../../../providers/mail/mailer.ts';
import type { PoolProvider } from '../../../providers/mail-pool.ts';
import {
  type CircuitPermit,
  type CircuitServices,
  type CircuitWait,
  enterCircuit,
  leaveCircuit,
  permitOf,
  type ProviderSignal,
  releaseWaiting,
  signalOf,
} from './circuit.ts';
import type { ProjectRouting } from './routing.ts';
import { bug } from '../../../domain/errors.ts';

/** Milliseconds for which mail waits while a probe finds out whether its provider works again. */
const probingMs = 5_000;

/** A mail provider, from the point of view of one batch. */
export class BatchProvider {
  readonly provider: PoolProvider;
  readonly #permit: CircuitPermit | CircuitWait;
  /**
   * A random factor, so that the waiting mail of many batches does not become due at the same
   * moment.
   */
  readonly #spread = 1 + Math.random();
  readonly #signals: ProviderSignal[] = [];
  #failedInRow = 0;
  #taken = 0;
  /**
   * True if the provider's circuit is open, so the next message is a probe, which must be claimed
   * first.
   */
  #mustClaim: boolean;

  constructor(
    provider: PoolProvider,
    permit: CircuitPermit | CircuitWait,
    { isClaimed = false } = {},
  ) {
    this.provider = provider;
    this.#permit = permit;
    this.#mustClaim = !isClaimed && 'isProbe' in permit && permit.isProbe;
  }

  /** True if the circuit was closed when the batch began, and may open meanwhile. */
  get isOpenable(): boolean {
    return 'isProbe' in this.#permit && !this.#permit.isProbe;
  }

  /**
   * Returns the milliseconds until the provider may be tried; null: it may get the next message.
   */
  downMs(): number | null {
    if ('waitMs' in this.#permit) {
      return Math.max(firstRetryMs, this.#permit.waitMs) * this.#spread;
    }
    if (this.hasFailed()) return firstRetryMs * this.#spread;
    return this.#taken < this.#permit.max ? null : probingMs * this.#spread;
  }

  /** Counts a message that will be given to the provider. */
  take(): void {
    this.#taken += 1;
  }

  /** Returns true if the provider could take none of the last messages of the batch. */
  hasFailed(): boolean {
    return this.#failedInRow >= providerFailuresMax;
  }

  /**
   * Returns false if the provider's circuit is open and another message already probes the
   * provider.
   */
  async enter({ db }: CircuitServices): Promise<boolean> {
    if (!this.#mustClaim) return true;
    const hasClaimed = await claimProbe(db, this.provider.mailer.provider);
    this.#mustClaim = !hasClaimed;
    return hasClaimed;
  }

  /** Adds the response of the provider to a message. */
  note(answer: SendOutcome): void {
    const signal = signalOf(answer);
    this.#signals.push(signal);
    if (signal.isProviderFailure) this.#failedInRow += 1;
    else if (answer.kind === 'accepted' || answer.kind === 'refused') this.#failedInRow = 0;
  }

  /** Passes the responses of the batch to the circuit. */
  async leave(services: CircuitServices): Promise<void> {
    if ('waitMs' in this.#permit || this.#mustClaim) return;
    const { provider } = this.provider.mailer;
    await leaveCircuit(services, provider, this.#permit, this.#signals, () =>
      releaseWaiting(services.db, this.provider),
    );
  }
}

/** The mail providers that one batch may use. */
export interface BatchProviders {
  /** The provider of mail without a route. */
  default: BatchProvider;
  all: readonly BatchProvider[];
  /** null: all mail goes to the default provider. */
  routing: BatchRouting | null;
}

/** Chooses between the providers that a batch may use. */
export interface BatchRouting extends ProviderChooser {
  providerOf(chosen: Chosen): BatchProvider;
  /** Returns which candidate after `position` gets a message of this size. */
  next(choice: ProviderChoice, position: number, messageBytes: number): ProviderDecision;
  /**
   * Describes a choice for the trace.
   * @param before providers that were passed over since the message was claimed
   */
  detailOf(
    choice: ProviderChoice,
    decision: Sent,
    before?: readonly SkippedProvider[],
  ): RoutedDetail;
}

type Sent = Extract<ProviderDecision, { kind: 'send' }>;

/**
 * Opens the default provider for a batch. Returns the milliseconds to wait if its circuit does not
 * allow mail now. `leave` must be called at the end of the batch for each provider that may get
 * mail.
 */
export async function openDefault(
  services: CircuitServices,
  provider: PoolProvider,
): Promise<{ providers: BatchProviders; max: number } | CircuitWait> {
  const permit = await enterCircuit(services, provider.mailer.provider);
  if ('waitMs' in permit) return permit;
  const only = new BatchProvider(provider, permit, { isClaimed: true });
  return { providers: { default: only, all: [only], routing: null }, max: permit.max };
}

/** Opens the providers of a project's routes for a batch. */
export async function openRouted(
  { db }: CircuitServices,
  byDefault: PoolProvider,
  { routes, providers: known }: ProjectRouting,
): Promise<BatchProviders> {
  const named = new Set(
    [...routes.own, ...routes.installation].flatMap((route) => route.providers.map(({ id }) => id)),
  );
  // Mail may be bound to a provider that has tried it before, also if no route names that provider
  // now.
  const others = [...known.values()].filter(
    ({ id, scope }) => id !== byDefault.id && (scope === 'project' || named.has(id)),
  );
  const used = [byDefault, ...others];
  const circuits = await readCircuits(
    db,
    used.map(({ mailer }) => mailer.provider),
  );
  const all = used.map(
    (provider) => new BatchProvider(provider, permitOf(circuits.get(provider.mailer.provider)!)),
  );
  const byId = new Map(all.map((each) => [each.provider.id, each]));
  return { default: all[0]!, all, routing: batchRouting(routes, byId) };
}

function batchRouting(routes: Routes, byId: ReadonlyMap<string, BatchProvider>): BatchRouting {
  const known = new Map([...byId].map(([id, { provider }]) => [id, provider]));
  function detailOf(
    choice: ProviderChoice,
    { providerId, position, skipped }: Sent,
    before: readonly SkippedProvider[] = [],
  ): RoutedDetail {
    return {
      providerId,
      name: known.get(providerId)?.name ?? providerId,
      route: choice.route,
      why: position === 0 ? 'chosen' : 'next',
      skipped: [...before, ...skipped],
    };
  }
  function obstacleOf(id: string, messageBytes: number): Obstacle | null {
    const candidate = byId.get(id);
    if (!candidate) return 'disabled';
    const { maxMessageBytes } = candidate.provider;
    if (maxMessageBytes !== null && messageBytes > maxMessageBytes) return 'too_large';
    const waitMs = candidate.downMs();
    return waitMs === null ? null : { waitMs };
  }
  /**
   * Decides on a provider, from the candidate `from` on, and counts the message for this provider.
   * @param messageBytes 0: not known yet
   */
  function decide(
    choice: ProviderChoice,
    from: number,
    messageBytes: number,
    isPassedOver: (id: string) => boolean = () => false,
  ): ProviderDecision {
    const obstacle = (id: string) => (isPassedOver(id) ? 'ramp' : obstacleOf(id, messageBytes));
    const decision = decideProvider(choice, obstacle, from);
    if (decision.kind === 'send') byId.get(decision.providerId)?.take();
    return decision;
  }
  return {
    choose(email, isPassedOver) {
      const boundTo = email.provider_id ?? defaultProviderId;
      const choice = email.is_bound
        ? boundChoice(boundTo, known.get(boundTo))
        : chooseProviders(email, routes, known);
      const decision = decide(choice, 0, 0, isPassedOver);
      const isMentioned = email.is_bound ? email.provider_id !== null : choice.isRouted;
      const isSent = decision.kind === 'send';
      return {
        choice,
        decision,
        detail: isSent && isMentioned ? detailOf(choice, decision) : null,
      };
    },
    providerOf({ choice, position }) {
      const found = byId.get(choice.candidates[position]?.providerId ?? '');
      if (!found) throw bug('The chosen provider does not belong to the batch.');
      return found;
    },
    next: (choice, position, messageBytes) => decide(choice, position + 1, messageBytes),
    detailOf,
  };
}
