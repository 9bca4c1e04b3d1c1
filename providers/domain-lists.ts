import { readFileSync } from 'node:fs';
import { disposableEmailBlocklist } from 'disposable-email-domains-js';
import { aliasDomains, personalDomains } from '../domain/mail/mailbox-providers.ts';
import type { DomainLists } from '../domain/mail/verify-email.ts';

/** Files that replace the built-in lists, with one domain per line; # begins a comment. */
export type DomainListFiles = { [List in keyof DomainLists]: string | null };

/**
 * Misspelt names that are left out of the built-in list of disposable domains. A user who types
 * such a name means another provider, so a hint about the misspelling is more useful.
 */
const misspelled = new Set(['gmial.com', 'hotmai.com', 'hotmial.com']);

const variables = {
  disposable: 'DISPOSABLE_DOMAINS_FILE',
  personal: 'PERSONAL_DOMAINS_FILE',
  alias: 'ALIAS_DOMAINS_FILE',
};

/**
 * Reads the lists of mail domains: from files, or the built-in lists.
 * @throws Error that names the variable of a file that cannot be read
 */
export function readDomainLists(files: DomainListFiles): DomainLists {
  const list = (which: keyof DomainLists, builtIn: () => readonly string[]) => {
    const file = files[which];
    return new Set(file === null ? builtIn() : readList(file, variables[which]));
  };
  return {
    disposable: list('disposable', () =>
      disposableEmailBlocklist().filter((domain) => !misspelled.has(domain)),
    ),
    personal: list('personal', () => personalDomains),
    alias: list('alias', () => aliasDomains),
  };
}

function readList(file: string, variable: string): string[] {
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (error) {
    throw new Error(`${variable} cannot be read: ${(error as Error).message}`, { cause: error });
  }
  return text
    .split('\n')
    .map((line) => line.trim().toLowerCase())
    .filter((line) => line !== '' && !line.startsWith('#'));
}
