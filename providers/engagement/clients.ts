import { createHmac } from 'node:crypto';
import ipaddr from 'ipaddr.js';
import type { ClientSign } from '../../domain/engagement/verdict.ts';
import { type MachineRules, matchesAgent } from '../../domain/engagement/machine-rules.ts';

/**
 * The client of a request to a pixel or link, from the request itself or from a provider's report.
 */
export interface Client {
  /** IP address; null: unknown. */
  address: string | null;
  /** User agent; null or blank: the client sent none. */
  agent: string | null;
}

/**
 * The facts about a client that may be stored: a keyed hash of its address and user agent, and
 * signs that it is a machine or a proxy.
 */
export interface ClientFacts {
  /** The hash; null: neither address nor user agent is known. */
  client: string | null;
  signs: ClientSign[];
}

/** Reduces clients to the facts that may be stored. */
export interface Clients {
  describe(client: Client, kind: 'open' | 'click' | 'head'): ClientFacts;
}

/** Maximum number of characters of a user agent that are considered. */
const agentCharsMax = 512;

type Network = ReturnType<typeof ipaddr.parseCIDR>;

/**
 * Creates the functions that describe clients by these rules.
 * @param sign makes the keys of the hashes; each UTC day has its own key
 */
export function createClients(rules: MachineRules, sign: (text: string) => string): Clients {
  const agents = rules.agents.map((agent) => agent.toLowerCase());
  const networks = rules.networks.map(({ cidr, on }) => ({ network: parse(cidr), on }));
  const proxies = rules.proxies.map(({ agent, cidr, prefetches }) => ({
    agent: agent?.toLowerCase(),
    network: cidr === undefined ? undefined : parse(cidr),
    prefetches,
  }));
  const hashOf = dailyHash(sign);
  return {
    describe({ address, agent: given }, kind) {
      const agent = (given ?? '').slice(0, agentCharsMax).trim();
      const client = agent === '' && !address ? null : hashOf(`${address} ${agent}`);
      if (kind === 'head') return { client, signs: [] };
      const word = agent.toLowerCase();
      const ip = address && ipaddr.isValid(address) ? ipaddr.process(address) : null;
      const isIn = ([start, bits]: Network) =>
        ip !== null && ip.kind() === start.kind() && ip.match(start, bits);
      const signs: ClientSign[] = [];
      if (word === '') signs.push('no_agent');
      if (agents.some((entry) => matchesAgent(word, entry))) signs.push('known_agent');
      if (networks.some(({ network, on }) => on.includes(kind) && isIn(network)))
        signs.push('known_network');
      const own = proxies.filter(
        (proxy) =>
          (proxy.agent === undefined || matchesAgent(word, proxy.agent)) &&
          (proxy.network === undefined || isIn(proxy.network)),
      );
      if (own.some(({ prefetches }) => prefetches)) signs.push('prefetcher');
      else if (own.length > 0) signs.push('proxy');
      return { client, signs };
    },
  };
}

/** Parses a network. An IPv4-mapped IPv6 network becomes the IPv4 network. */
function parse(cidr: string): Network {
  const [start, bits] = ipaddr.parseCIDR(cidr);
  return start instanceof ipaddr.IPv6 && start.isIPv4MappedAddress() && bits >= 96
    ? [start.toIPv4Address(), bits - 96]
    : [start, bits];
}

/**
 * Returns a keyed hash function. The key changes on each UTC day. All processes have the same key.
 */
function dailyHash(sign: (text: string) => string): (text: string) => string {
  let current = { day: '', key: '' };
  return (text) => {
    const day = new Date().toISOString().slice(0, 10);
    if (current.day !== day) current = { day, key: sign(day) };
    return createHmac('sha256', current.key).update(text).digest('base64url').slice(0, 22);
  };
}
