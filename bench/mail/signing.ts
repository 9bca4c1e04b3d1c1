import type { Benchmark } from '../measuring/benchmark.ts';
import { printCpu } from '../measuring/cpu.ts';
import { figure, median, printTable } from '../measuring/numbers.ts';
import { createProject } from '../measuring/project.ts';
import { freePort, stackOptions, startStack } from '../measuring/stack.ts';
import { insertContacts, measured, type Round, send } from './campaign.ts';

/**
 * Messages of a campaign per second from a domain that Everpost signs for (DKIM), compared with the
 * same campaign from a domain that the mail server signs for.
 */
export const signing: Benchmark = {
  summary: 'Messages of a campaign per second with own signatures (DKIM), against without',
  options: {
    recipients: '10000',
    rounds: '3',
    /** True: also a signature by Ed25519. */
    ed25519: false,
    ...stackOptions,
  },
  async run(run) {
    const port = await freePort(run);
    const stack = await startStack(run, {
      SMTP_HOST: '127.0.0.1',
      SMTP_PORT: String(port),
      EMAIL_RATE_LIMIT_PER_SECOND: '0',
      EMAIL_RATE_PER_PROJECT_PER_SECOND: '0',
    });
    const sink = await stack.startProgram('sink', 'bench/reference/sink.ts', {
      PORT: String(port),
    });
    const unsigned = await createProject(stack.apiUrl);
    const recipients = run.count('recipients');
    await insertContacts(stack, unsigned, recipients);
    // Outside of production a reserved name needs no DNS, so its key signs at once.
    const domain = { domain: 'signed.test', signing: 'own', ed25519: run.has('ed25519') };
    await unsigned.call('POST', '/domains', domain);
    const signed = { ...unsigned, sender: 'team@signed.test' };
    const pids = { ...stack.pids, sink: sink.pid ?? 0 };
    const subjects = [
      { name: 'without', project: unsigned, rounds: [] as Round[] },
      { name: 'with', project: signed, rounds: [] as Round[] },
    ];
    for (let index = 0; index <= run.count('rounds'); index++) {
      for (const { project, rounds } of subjects) {
        const work = () => send(stack, project, sink, recipients);
        const round = await measured(pids, recipients, work);
        // The first round warms up.
        if (index > 0) rounds.push(round);
      }
    }
    print(subjects);
  },
};

function print(subjects: readonly { name: string; rounds: readonly Round[] }[]): void {
  const [reference] = subjects;
  printTable([
    ['own signatures', 'messages/s', 'ratio'],
    ...subjects.map(({ name, rounds }) => {
      const ratios = rounds.map(
        ({ perSecond }, index) => perSecond / (reference?.rounds[index]?.perSecond ?? 0),
      );
      const rate = median(rounds.map(({ perSecond }) => perSecond));
      return [name, figure(rate), `${figure(median(ratios))} ×`];
    }),
  ]);
  console.log('CPU of a message, milliseconds\n');
  printCpu(
    subjects.map(({ name, rounds }) => ({ name, cpu: rounds.map(({ cpu }) => cpu) })),
    'without',
  );
}
