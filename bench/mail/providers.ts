import type { Benchmark } from '../measuring/benchmark.ts';
import { createProject } from '../measuring/project.ts';
import { stackOptions } from '../measuring/stack.ts';
import { insertContacts } from './campaign.ts';
import { compareCampaigns, startWithSink } from './compared.ts';

/**
 * Messages of a campaign per second over two mail providers of a route, half by each, compared with
 * the same campaign without a route. One mail server takes all of them.
 */
export const providers: Benchmark = {
  summary: 'Messages of a campaign per second over two mail providers, against one',
  options: { recipients: '10000', rounds: '3', ...stackOptions },
  async run(run) {
    const servers = await startWithSink(run);
    const { stack, port } = servers;
    const one = await createProject(stack.apiUrl);
    const two = await createProject(stack.apiUrl);
    for (const project of [one, two]) await insertContacts(stack, project, run.count('recipients'));
    const ids: unknown[] = [];
    for (const name of ['First', 'Second']) {
      const server = { kind: 'smtp', host: '127.0.0.1', port, security: 'none', feedback: 'none' };
      ids.push((await two.call('POST', '/providers', { name, ...server }))['id']);
    }
    const route = { match: {}, providers: ids.map((id) => ({ id, weight: 1 })), onDown: 'next' };
    await two.call('PUT', '/routing', { routes: [route] });
    await compareCampaigns(run, servers, 'mail providers', [
      { name: 'one', project: one },
      { name: 'two', project: two },
    ]);
  },
};
