import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { createClients } from '../../../providers/engagement/clients.ts';
import { readMachineRules } from '../../../providers/engagement/machine-rules-file.ts';
import { useFolder } from '../../support/use.ts';

const dir = await useFolder();

async function read(rules: unknown) {
  const file = path.join(dir, 'rules.json');
  await writeFile(file, typeof rules === 'string' ? rules : JSON.stringify(rules));
  return readMachineRules(file);
}

const signsWith = async (rules: unknown) => {
  const clients = createClients(await read(rules), (text) => text);
  return (address: string, agent: string, kind: 'open' | 'click' = 'click') =>
    clients.describe({ address, agent }, kind).signs;
};

describe('MACHINE_RULES_FILE', () => {
  it('replaces the built-in lists', async () => {
    const signs = await signsWith({
      agents: ['OurMonitor', '=Plain'],
      networks: [
        { cidr: '203.0.113.0/24', on: ['click'] },
        { cidr: '2001:db8::/32', on: ['open', 'click'] },
      ],
      proxies: [{ agent: 'ImageFetcher', cidr: '198.51.100.0/24', prefetches: true }],
    });
    expect(signs('192.0.2.1', 'curl/8.5.0')).toEqual([]);
    expect(signs('192.0.2.1', 'x OURMONITOR/2')).toEqual(['known_agent']);
    expect(signs('192.0.2.1', 'plain')).toEqual(['known_agent']);
    expect(signs('192.0.2.1', 'plain 2')).toEqual([]);
    expect(signs('203.0.113.9', 'x')).toEqual(['known_network']);
    expect(signs('203.0.113.9', 'x', 'open')).toEqual([]);
    expect(signs('::ffff:203.0.113.9', 'x')).toEqual(['known_network']);
    expect(signs('2001:db8::5', 'x', 'open')).toEqual(['known_network']);
    expect(signs('198.51.100.9', 'ImageFetcher', 'open')).toEqual(['prefetcher']);
    expect(signs('192.0.2.1', 'ImageFetcher', 'open')).toEqual([]);
  });

  it('stops the start with all that is wrong with it', async () => {
    const wrong = {
      agents: [''],
      networks: [{ cidr: '203.0.113.0/99', on: ['read'] }],
      proxies: [{ prefetches: true }],
      others: [],
    };
    const error = await read(wrong).catch((caught: Error) => caught.message);
    for (const part of ['agents', 'networks', 'cidr', 'proxies', 'others']) {
      expect(error).toContain(part);
    }
    await expect(read('no JSON')).rejects.toThrow('MACHINE_RULES_FILE');
    expect(() => readMachineRules(path.join(dir, 'none.json'))).toThrow('MACHINE_RULES_FILE');
  });
});
