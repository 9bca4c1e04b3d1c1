import { domainOf } from '../email-address.ts';
import { popularDomains } from './mailbox-providers.ts';

/** DNS facts about the domain of an address. */
export interface MailHost {
  exists: boolean;
  /** True if the domain has an address record. */
  hasWebsite: boolean;
  /** True if the domain accepts mail: it has an MX record other than the null MX. */
  hasMx: boolean;
}

/** Domains by category. Disposable and alias domains include their subdomains. */
export interface DomainLists {
  disposable: ReadonlySet<string>;
  personal: ReadonlySet<string>;
  alias: ReadonlySet<string>;
}

export interface AddressFindings {
  email: string;
  valid: boolean;
  isDisposable: boolean;
  isAlias: boolean;
  isTypo: boolean;
  isPlusAddressed: boolean;
  isPersonalEmail: boolean;
  domainExists: boolean;
  hasWebsite: boolean;
  hasMxRecords: boolean;
  /** Set only for an address that looks misspelled. */
  suggestedEmail?: string;
  /** One sentence for each finding. If there is none, one sentence that the domain accepts mail. */
  reasons: string[];
}

/**
 * Evaluates an address in its stored form. The address is invalid only when its domain does not
 * exist or accepts no mail; all other findings are hints.
 */
export function judgeAddress(email: string, host: MailHost, lists: DomainLists): AddressFindings {
  const domain = domainOf(email);
  const meant = lists.personal.has(domain) ? undefined : closePopular(domain);
  const findings = {
    isDisposable: isWithin(domain, lists.disposable),
    isAlias: isWithin(domain, lists.alias),
    isTypo: meant !== undefined,
    isPlusAddressed: email.slice(0, email.lastIndexOf('@')).includes('+'),
    isPersonalEmail: lists.personal.has(domain),
    domainExists: host.exists,
    hasWebsite: host.exists && host.hasWebsite,
    hasMxRecords: host.exists && host.hasMx,
  };
  const reasons = [
    !findings.domainExists && 'The domain does not exist.',
    findings.domainExists && !findings.hasMxRecords && 'The domain accepts no mail.',
    findings.isDisposable && 'The domain offers disposable addresses.',
    findings.isAlias && 'The domain forwards to another mailbox.',
    findings.isTypo && 'The domain looks misspelled.',
    findings.isPlusAddressed && 'The address has a plus sign and a label.',
    findings.isPersonalEmail && 'The domain belongs to a provider of personal mailboxes.',
  ].filter((reason) => reason !== false);
  return {
    email,
    valid: findings.domainExists && findings.hasMxRecords,
    ...findings,
    ...(meant ? { suggestedEmail: `${email.slice(0, -domain.length)}${meant}` } : {}),
    reasons: reasons.length > 0 ? reasons : ['The domain exists and accepts mail.'],
  };
}

/** Returns true for a domain in the list and for its subdomains. */
function isWithin(domain: string, list: ReadonlySet<string>): boolean {
  const labels = domain.split('.');
  return labels.some((_, index) => list.has(labels.slice(index).join('.')));
}

/** Returns the large provider whose domain is one letter away from this domain. */
function closePopular(domain: string): string | undefined {
  if (popularDomains.includes(domain)) return undefined;
  return popularDomains.find((popular) => isOneEditAway(domain, popular));
}

/**
 * Returns true if two texts differ by one edit (Damerau-Levenshtein distance 1): a letter more,
 * less or different, or two swapped.
 */
export function isOneEditAway(a: string, b: string): boolean {
  if (a === b) return false;
  let at = 0;
  while (at < a.length && a[at] === b[at]) at += 1;
  const rest = (text: string, skipped: number) => text.slice(at + skipped);
  return (
    rest(a, 1) === rest(b, 1) ||
    rest(a, 1) === rest(b, 0) ||
    rest(a, 0) === rest(b, 1) ||
    (a[at] === b[at + 1] && a[at + 1] === b[at] && rest(a, 2) === rest(b, 2))
  );
}
