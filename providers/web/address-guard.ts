import type { LookupAddress } from 'node:dns';
import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';

/** A public address that virtual machines on Azure use to reach internal services of Azure. */
const platformAddresses: ReadonlySet<string> = new Set(['168.63.129.16']);

/** The only IPv6 range for unicast addresses on the Internet (IANA, RFC 4291 §2.4). */
const globalUnicast = ipaddr.IPv6.parseCIDR('2000::/3');
/** The NAT64 range (RFC 6052), through which IPv6-only networks reach public IPv4 addresses. */
const nat64 = ipaddr.IPv6.parseCIDR('64:ff9b::/96');

/**
 * Returns true if a text is an IP address (without brackets) of the public Internet.
 *
 * Special addresses (the registries of RFC 6890) are not public: private, loopback, link-local
 * (with the metadata services of clouds), shared (RFC 6598), multicast, broadcast, unspecified,
 * reserved and example addresses. A mapped or NAT64 address is as public as the IPv4 address inside
 * it. 6to4, Teredo and other tunnels are never public.
 */
export function isPublicAddress(address: string): boolean {
  if (!ipaddr.isValid(address)) return false;
  const ip = ipaddr.parse(address);
  if (ip instanceof ipaddr.IPv4) {
    return ip.range() === 'unicast' && !platformAddresses.has(ip.toString());
  }
  if (ip.isIPv4MappedAddress() || ip.match(nat64)) {
    return isPublicAddress(ip.toByteArray().slice(12).join('.'));
  }
  return ip.range() === 'unicast' && ip.match(globalUnicast);
}

/**
 * Returns true if an IP address (without brackets) belongs to this machine itself: 127.0.0.0/8 or
 * ::1, also if mapped to IPv6.
 */
export function isLoopbackAddress(address: string): boolean {
  return ipaddr.isValid(address) && ipaddr.process(address).range() === 'loopback';
}

/** Thrown when the guard refuses an address. A retry would not help. */
export class AddressRefused extends Error {}

/** Decides to which addresses this server connects on behalf of its users. */
export interface AddressGuard {
  /**
   * Returns the addresses of a host name or IP address (without brackets). If one address is
   * refused, all addresses are refused, because Node.js could connect to any of them, and an honest
   * server has only public addresses.
   * @throws AddressRefused, or the error of the lookup
   */
  findAddresses(host: string): Promise<LookupAddress[]>;
  /** Returns true if a host is an IP address (without brackets) that the guard refuses. */
  refuses(host: string): boolean;
}

export interface AddressGuardSettings {
  /** True: the guard is off (for development). */
  allowPrivate: boolean;
  /** True: addresses of this machine are allowed, too (for development). Default: false. */
  allowLoopback?: boolean;
  /** Returns all addresses of a host name. */
  lookup: (hostname: string) => Promise<LookupAddress[]>;
  /** Returns true if an address is allowed. Default: true for addresses of the public Internet. */
  isPublic?: ((address: string) => boolean) | undefined;
}

export function createAddressGuard({
  allowPrivate,
  allowLoopback = false,
  lookup,
  isPublic = isPublicAddress,
}: AddressGuardSettings): AddressGuard {
  const isAllowed = (address: string) =>
    allowPrivate || isPublic(address) || (allowLoopback && isLoopbackAddress(address));
  return {
    async findAddresses(host) {
      const family = isIP(host);
      const found = family ? [{ address: host, family }] : await lookup(host);
      if (found.length === 0) throw new Error(`${host} has no address.`);
      if (found.every(({ address }) => isAllowed(address))) return found;
      throw new AddressRefused(
        `${host} is not at a public address, and WEBHOOK_ALLOW_PRIVATE is not true.`,
      );
    },
    refuses: (host) => isIP(host) !== 0 && !isAllowed(host),
  };
}
