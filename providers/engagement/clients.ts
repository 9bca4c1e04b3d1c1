import { createHmac } from 'node:crypto';
import ipaddr from 'ipaddr.js';
import type { ClientSign } from '../../domain/engagement/verdict.ts';
import { type MachineRules, matchesAgent } from '../../domain/engagement/machine-rules.ts';

/** The client of a request to a pixel or link, as the request or a provider's report has it. */
export interface Client {
  /** IP address; null: unknown. */
  address: string | null;
  /** User agent; null or blank: it has none. */
  agent: string | null;
}

/** A client without address and user agent: their keyed hash, and what they show. */
export interface ClientFacts {
  /** null: neither address nor user agent is known. */
  client: string | null;
  signs: ClientSign[];
}

/** Reduces clients to what may be stored. */
export interface Clients {
  describe(client: Client, kind: 'open' | 'click' | 'head'): ClientFacts;
}

/** Maximum number of characters of a user agent that are read. */
const agentCharsMax = 512;

type Network = ReturnType<typeof ipaddr.parseCIDR>;

/** @param sign makes the keys of the hashes, a new one for each UTC day */
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

/** A mapped IPv6 network is that of its IPv4 addresses. */
function parse(cidr: string): Network {
  const [start, bits] = ipaddr.parseCIDR(cidr);
  return start instanceof ipaddr.IPv6 && start.isIPv4MappedAddress() && bits >= 96
    ? [start.toIPv4Address(), bits - 96]
    : [start, bits];
}

/** Returns a keyed hash whose key is another on each UTC day, the same in all processes. */
function dailyHash(sign: (text: string) => string): (text: string) => string {
  let current = { day: '', key: '' };
  return (text) => {
    const day = new Date().toISOString().slice(0, 10);
    if (current.day !== day) current = { day, key: sign(day) };
    return createHmac('sha256', current.key).update(text).digest('base64url').slice(0, 22);
  };
}
