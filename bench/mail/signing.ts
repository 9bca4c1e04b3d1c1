import type { Benchmark } from '../measuring/benchmark.ts';
import { createProject } from '../measuring/project.ts';
import { stackOptions } from '../measuring/stack.ts';
import { insertContacts } from './campaign.ts';
import { compareCampaigns, startWithSink } from './compared.ts';

/**
 * Messages of a campaign per second from a domain that Everpost signs for (DKIM), compared with the
 * same campaign from a domain that the mail server signs for.
 */
export const signing: Benchmark = {
  summary: 'Messages of a campaign per second with own signatures (DKIM), against without',
  options: {
    recipients: '10000',
    rounds: '3',
    /** True: each mail also gets a signature by Ed25519. */
    ed25519: false,
    ...stackOptions,
  },
  async run(run) {
    const servers = await startWithSink(run);
    const unsigned = await createProject(servers.stack.apiUrl);
    await insertContacts(servers.stack, unsigned, run.count('recipients'));
    // Outside of production, a domain with a reserved name needs no DNS, so its key signs at once.
    const domain = { domain: 'signed.test', signing: 'own', ed25519: run.has('ed25519') };
    await unsigned.call('POST', '/domains', domain);
    const signed = { ...unsigned, sender: 'team@signed.test' };
    await compareCampaigns(run, servers, 'own signatures', [
      { name: 'without', project: unsigned },
      { name: 'with', project: signed },
    ]);
  },
};
