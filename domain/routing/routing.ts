import { domainOf } from '../email-address.ts';
import { defaultProviderId } from '../provider/provider.ts';
import { drawWeighted } from '../drawing/weighted-draw.ts';
import type { MessageClass } from '../mail/headers.ts';

/** Which mail leaves by which mail provider. */

/** A rule that names the providers of some mail. */
export interface Route {
  match: RouteMatch;
  providers: readonly RouteTarget[];
  onDown: OnDown;
}

/** All given parts must match. */
export interface RouteMatch {
  messageClass?: readonly MessageClass[] | undefined;
  /** Domains of the sender. */
  domains?: readonly string[] | undefined;
  topicIds?: readonly string[] | undefined;
  /** Domains of the recipient; `*.x` matches each name below x. */
  receivers?: readonly string[] | undefined;
}

export interface RouteTarget {
  id: string;
  /** Its share of the mail; 0: only when the providers before it cannot take the mail. */
  weight: number;
}

/**
 * While the chosen provider cannot take mail, the mail waits for it (hold), or goes to the next
 * provider of the route.
 */
export const onDownChoices = ['hold', 'next'] as const;
export type OnDown = (typeof onDownChoices)[number];

/** Why a provider of a route was passed over. */
export const skipReasons = [
  'disabled',
  'domain_not_allowed',
  'too_large',
  'down',
  'refused',
  'ramp',
] as const;
export type SkipReason = (typeof skipReasons)[number];

/** A message to choose a provider for. */
export interface RoutedMail {
  /** null: no message, but a preview. It gets the order that most messages get. */
  id: string | null;
  message_class: string;
  from_email: string;
  to_email: string;
  topic_id: string | null;
}

/** The properties of a provider that do not depend on its availability. */
export interface RoutableProvider {
  id: string;
  enabled: boolean;
  /** Sender domains that it may send for; null: all. */
  domains: readonly string[] | null;
}

export interface Candidate {
  providerId: string;
  weight: number;
  /** Why it cannot take the message at all; null: it can, when it is available. */
  reason: Extract<SkipReason, 'disabled' | 'domain_not_allowed'> | null;
}

export interface ProviderChoice {
  /** Index of the route of the project that has decided; null: none of them. */
  route: number | null;
  /** False if no route has decided, so the message goes to the default provider. */
  isRouted: boolean;
  onDown: OnDown;
  /** In the order in which they are tried; never empty. */
  candidates: readonly Candidate[];
}

export interface Routes {
  /** The routes of the project, in order. */
  own: readonly Route[];
  /** The routes of the installation, for mail that no route of its project matches. */
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
  // Those after the chosen one, then those before it.
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

/** Draws by the id of the message, so that each attempt for it has the same order. */
function drawTarget(targets: readonly RouteTarget[], mailId: string | null): RouteTarget {
  const [first] = targets;
  if (!first) throw new Error('The route has no provider');
  if (mailId !== null) return drawWeighted(targets, 'mail provider', mailId) ?? first;
  return targets.reduce((most, target) => (target.weight > most.weight ? target : most), first);
}

function reasonAgainst(
  provider: RoutableProvider | undefined,
  senderDomain: string,
): Candidate['reason'] {
  // The settings of the installation may name a provider no more.
  if (!provider?.enabled) return 'disabled';
  return provider.domains?.includes(senderDomain) === false ? 'domain_not_allowed' : null;
}

/** A provider that was passed over. */
export interface SkippedProvider {
  providerId: string;
  reason: SkipReason;
}

export type ProviderDecision =
  | {
      kind: 'send';
      providerId: string;
      /** Its index in the candidates. */
      position: number;
      /** The candidates before it that cannot take the message. */
      skipped: readonly SkippedProvider[];
    }
  /** The message waits for this provider, which may take mail again after these milliseconds. */
  | { kind: 'wait'; providerId: string; waitMs: number }
  /** No provider can take the message. */
  | { kind: 'none' };

/** Why a provider cannot take a message now. `waitMs`: it is down, and may be tried again then. */
export type Obstacle = Exclude<SkipReason, 'down'> | { waitMs: number };

/**
 * Decides which of the candidates gets a message now.
 * @param obstacleOf returns null if the provider can take the message
 * @param from index of the first candidate: those before it have had the message
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
 * Returns the choice for a message that a provider may have accepted already: no other provider may
 * get it.
 * @param provider undefined: it was removed
 */
export function boundChoice(
  providerId: string,
  provider: RoutableProvider | undefined,
): ProviderChoice {
  const reason = provider?.enabled ? null : 'disabled';
  const candidates = [{ providerId, weight: 1, reason } as const];
  return { route: null, isRouted: true, onDown: 'hold', candidates };
}

/** The choice of a provider, as the trace of the message shows it. */
export interface RoutedDetail {
  providerId: string;
  name: string;
  route: number | null;
  why: 'chosen' | 'next';
  skipped: readonly SkippedProvider[];
}

/** The answer of a provider to a message. */
export interface ProviderAnswer {
  kind: string;
  error?: string;
  /** True if the recipient's address was refused. */
  isRecipient?: boolean;
}

/**
 * Returns true if another provider may get a message after this answer: it was certainly not accepted,
 * and not refused because of its recipient.
 */
export function mayMoveAfter(answer: ProviderAnswer): boolean {
  if (answer.kind === 'retry') return true;
  return answer.kind === 'refused' && !isRecipientRefusal(answer);
}

/**
 * Returns true if another provider would refuse the message, too, because the recipient cannot be
 * reached: the enhanced status x.1.x, addressing, or x.2.x, the mailbox (RFC 3463).
 */
export function isRecipientRefusal({
  error = '',
  isRecipient = false,
}: Omit<ProviderAnswer, 'kind'>): boolean {
  return isRecipient || /\b5\.2\.\d{1,3}\b/.test(error);
}
