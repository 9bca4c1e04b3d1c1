import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { readConfig } from '../../config.ts';
import { readDomainLists } from '../../providers/domain-lists.ts';
import { useFolder } from '../support/use.ts';

const builtIn = { disposable: null, personal: null, alias: null };

describe('the lists of mail domains', () => {
  it('ship with the server', () => {
    const lists = readDomainLists(builtIn);
    expect(lists.disposable.size).toBeGreaterThan(5_000);
    expect(lists.disposable.has('mailinator.com')).toBe(true);
    expect(lists.personal.has('gmail.com')).toBe(true);
    expect(lists.alias.has('duck.com')).toBe(true);
    // A misspelling; the mailbox is at another domain.
    expect(lists.disposable.has('gmial.com')).toBe(false);
  });

  it('can be replaced by files', async () => {
    const folder = await useFolder();
    const file = join(folder, 'list.txt');
    await writeFile(file, '# note\r\n Ours.Dev \r\n\r\ntheirs.dev');
    const lists = readDomainLists({ ...builtIn, disposable: file });
    expect([...lists.disposable]).toEqual(['ours.dev', 'theirs.dev']);
    expect(lists.personal.has('gmail.com')).toBe(true);
  });

  it('name the setting of a file that cannot be read', () => {
    const files = { ...builtIn, personal: '/nowhere/list.txt' };
    expect(() => readDomainLists(files)).toThrow(/^PERSONAL_DOMAINS_FILE cannot be read: ENOENT/);
  });
});

describe('the setting DNS_SERVERS', () => {
  const read = (DNS_SERVERS: string) =>
    readConfig({
      JWT_SECRET: 'a secret of thirty-two characters or more',
      DATABASE_URL: 'postgres://localhost/x',
      DNS_SERVERS,
    }).dnsServers;

  it('takes addresses with and without a port', () => {
    expect(read('127.0.0.1:5353')).toEqual(['127.0.0.1:5353']);
    expect(read('1.1.1.1, [2606:4700::1111]:53,2606:4700::1111')).toHaveLength(3);
    expect(read('')).toBeNull();
  });

  it.each(['dns.example', '1.1.1.1:', '300.1.1.1', '1.1.1.1;8.8.8.8', ','])(
    'refuses %s',
    (text) => {
      expect(() => read(text)).toThrow('DNS_SERVERS must be IP addresses separated by commas');
    },
  );
});
