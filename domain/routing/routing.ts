import { domainOf } from '../email-address.ts';
import { defaultProviderId } from '../provider/provider.ts';
import { drawWeighted } from '../drawing/weighted-draw.ts';
import type { MessageClass } from '../mail/headers.ts';
import { bug } from '../errors.ts';

/** Decides which mail provider sends which mail. */

/** A rule that assigns some mail to providers. */
export interface Route {
  match: RouteMatch;
  providers: readonly RouteTarget[];
  onDown: OnDown;
}

/** The conditions of a route, which must all hold. An absent one always holds. */
export interface RouteMatch {
  messageClass?: readonly MessageClass[] | undefined;
  /** Domains of the sender address. */
  domains?: readonly string[] | undefined;
  topicIds?: readonly string[] | undefined;
  /** Domains of the recipient address; `*.x` matches each name below x. */
  receivers?: readonly string[] | undefined;
}

export interface RouteTarget {
  id: string;
  /**
   * The weight that determines the provider's share of the mail; 0: used only when the providers
   * before it cannot take the mail.
   */
  weight: number;
}

/**
 * How mail is handled while its chosen provider cannot take mail: `hold` lets the mail wait, `next`
 * sends it by the next provider of the route.
 */
export const onDownChoices = ['hold', 'next'] as const;
export type OnDown = (typeof onDownChoices)[number];

/** Reasons to pass over a provider of a route. */
export const skipReasons = [
  'disabled',
  'domain_not_allowed',
  'too_large',
  'down',
  'refused',
  'ramp',
] as const;
export type SkipReason = (typeof skipReasons)[number];

/** A message for which a provider is chosen. */
export interface RoutedMail {
  /** null: a preview without a message, which gets the most probable order of providers. */
  id: string | null;
  message_class: string;
  from_email: string;
  to_email: string;
  topic_id: string | null;
}

/** The properties of a provider that do not change with its availability. */
export interface RoutableProvider {
  id: string;
  enabled: boolean;
  /** Sender domains for which the provider may send; null: all. */
  domains: readonly string[] | null;
}

export interface Candidate {
  providerId: string;
  weight: number;
  /**
   * Why the provider can never take the message; null: the provider can take it while it is
   * available.
   */
  reason: Extract<SkipReason, 'disabled' | 'domain_not_allowed'> | null;
}

export interface ProviderChoice {
  /** Index of the project's route that matched; null: none of the project's routes matched. */
  route: number | null;
  /** False if no route matched, so the default provider is used. */
  isRouted: boolean;
  onDown: OnDown;
  /** The providers in the order in which they are tried; at least one. */
  candidates: readonly Candidate[];
}

export interface Routes {
  /** The routes of the project, in order. */
  own: readonly Route[];
  /**
   * The routes in the configuration of the server, for mail that no route of the project matches.
   */
  installation: readonly Route[];
}

const defaultRoute: Route = {
  match: {},
  providers: [{ id: defaultProviderId, weight: 1 }],
  onDown: 'hold',
};

/** Returns the providers that may take a message, in the order in which they are tried. */
export function chooseProviders(
  mail: RoutedMail,
  routes: Routes,
  providers: ReadonlyMap<string, RoutableProvider>,
): ProviderChoice {
  const senderDomain = domainOf(mail.from_email);
  const receiver = domainOf(mail.to_email);
  const matches = ({ match }: Route) => isMatch(match, mail, senderDomain, receiver);
  const own = routes.own.findIndex(matches);
  const route = routes.own[own] ?? routes.installation.find(matches);
  const { providers: targets, onDown } = route ?? defaultRoute;
  const first = targets.indexOf(drawTarget(targets, mail.id));
  // The targets after the drawn one come first, then the targets before it.
  const candidates = [...targets.slice(first), ...targets.slice(0, first)].map(
    ({ id, weight }): Candidate => ({
      providerId: id,
      weight,
      reason: reasonAgainst(providers.get(id), senderDomain),
    }),
  );
  return { route: own < 0 ? null : own, isRouted: route !== undefined, onDown, candidates };
}

function isMatch(
  { messageClass, domains, topicIds, receivers }: RouteMatch,
  mail: RoutedMail,
  senderDomain: string,
  receiver: string,
): boolean {
  return (
    (messageClass?.includes(mail.message_class as MessageClass) ?? true) &&
    (domains?.includes(senderDomain) ?? true) &&
    (topicIds === undefined || (mail.topic_id !== null && topicIds.includes(mail.topic_id))) &&
    (receivers?.some((name) => isReceiver(name, receiver)) ?? true)
  );
}

function isReceiver(name: string, domain: string): boolean {
  return name.startsWith('*.') ? domain.endsWith(name.slice(1)) : domain === name;
}

/**
 * Draws a target by the id of the message, so that each attempt of a message has the same order.
 */
function drawTarget(targets: readonly RouteTarget[], mailId: string | null): RouteTarget {
  const [first] = targets;
  if (!first) throw bug('The route has no provider.');
  if (mailId !== null) return drawWeighted(targets, 'mail provider', mailId) ?? first;
  return targets.reduce((most, target) => (target.weight > most.weight ? target : most), first);
}

function reasonAgainst(
  provider: RoutableProvider | undefined,
  senderDomain: string,
): Candidate['reason'] {
  // A route in the configuration of the server may name a provider that no longer exists.
  if (!provider?.enabled) return 'disabled';
  return provider.domains?.includes(senderDomain) === false ? 'domain_not_allowed' : null;
}

/** A provider that was passed over, with the reason. */
export interface SkippedProvider {
  providerId: string;
  reason: SkipReason;
}

export type ProviderDecision =
  | {
      kind: 'send';
      providerId: string;
      /** The index of the provider among the candidates. */
      position: number;
      /** The candidates before this one, which cannot take the message. */
      skipped: readonly SkippedProvider[];
    }
  /** The message waits for this provider, which is tried again after `waitMs` milliseconds. */
  | { kind: 'wait'; providerId: string; waitMs: number }
  /** No provider can take the message. */
  | { kind: 'none' };

/**
 * Why a provider cannot take a message now. `waitMs`: the provider is down, and may be tried again
 * after this time.
 */
export type Obstacle = Exclude<SkipReason, 'down'> | { waitMs: number };

/**
 * Decides which candidate gets a message now.
 * @param obstacleOf returns null if the provider can take the message
 * @param from index of the first candidate to consider: the earlier ones were tried already
 */
export function decideProvider(
  { onDown, candidates }: Pick<ProviderChoice, 'onDown' | 'candidates'>,
  obstacleOf: (providerId: string) => Obstacle | null,
  from = 0,
): ProviderDecision {
  const skipped: SkippedProvider[] = [];
  let first: Extract<ProviderDecision, { kind: 'wait' }> | null = null;
  for (const [index, { providerId, reason }] of candidates.slice(from).entries()) {
    const obstacle = reason ?? obstacleOf(providerId);
    if (obstacle === null) return { kind: 'send', providerId, position: from + index, skipped };
    if (typeof obstacle === 'string') {
      skipped.push({ providerId, reason: obstacle });
      continue;
    }
    const { waitMs } = obstacle;
    skipped.push({ providerId, reason: 'down' });
    if (!first || waitMs < first.waitMs) first = { kind: 'wait', providerId, waitMs };
    if (onDown === 'hold') return first;
  }
  return first ?? { kind: 'none' };
}

/**
 * Returns the only possible choice for a message that a provider may already have accepted: the
 * same provider.
 * @param provider undefined: the provider was removed
 */
export function boundChoice(
  providerId: string,
  provider: RoutableProvider | undefined,
): ProviderChoice {
  const reason = provider?.enabled ? null : 'disabled';
  const candidates = [{ providerId, weight: 1, reason } as const];
  return { route: null, isRouted: true, onDown: 'hold', candidates };
}

/** The choice of a provider as the trace of a message shows it. */
export interface RoutedDetail {
  providerId: string;
  name: string;
  route: number | null;
  why: 'chosen' | 'next';
  skipped: readonly SkippedProvider[];
}

/** The response of a provider to a message. */
export interface ProviderAnswer {
  kind: string;
  error?: string;
  /** True if the provider refused the address of the recipient. */
  isRecipient?: boolean;
}

/**
 * Returns true if another provider may send the message after this response: it was certainly not
 * accepted, and the refusal is not due to the recipient.
 */
export function mayMoveAfter(answer: ProviderAnswer): boolean {
  if (answer.kind === 'retry') return true;
  return answer.kind === 'refused' && !isRecipientRefusal(answer);
}

/**
 * Returns true if any other provider would refuse the message, too, because the recipient cannot be
 * reached. Such refusals have the enhanced status x.1.x (addressing) or x.2.x (mailbox), see RFC
 * 3463.
 */
export function isRecipientRefusal({
  error = '',
  isRecipient = false,
}: Omit<ProviderAnswer, 'kind'>): boolean {
  return isRecipient || /\b5\.2\.\d{1,3}\b/.test(error);
}
