import { configDefaults, defineConfig } from 'vitest/config';

/** Hours and rare: `npm run faults` plays them. */
const rare = 'test/faults/**';

/**
 * Watch or change what a process has once: modules, clocks, the spies of statements, memory, the
 * runtime of Temporal's SDK.
 */
const alone = [
  'test/api/http/body-limits.test.ts',
  'test/db/transaction.test.ts',
  'test/dev/logs/**/*.test.ts',
  'test/dev/servers/**/*.test.ts',
  'test/golden.test.ts',
  'test/providers/mail/smtp/pipelining.test.ts',
  'test/workflows/replay/replay-gate.test.ts',
  'test/workflows/upkeep/silent-temporal.test.ts',
  'test/workflows/upkeep/worker-log.test.ts',
];

/**
 * Start whole programs or browsers, work under load, or wait for real time. `npm run test:slow` plays
 * these files, so that `npm test` takes less than ten minutes on two cores.
 */
const slow = [
  'test/api/campaigns/follow-up-killed.test.ts',
  'test/api/http/body-room.test.ts',
  'test/api/http/main.test.ts',
  'test/api/http/stalled-bodies.test.ts',
  'test/api/keys/key-load.test.ts',
  'test/api/uploads/killed-upload.test.ts',
  'test/api/keys/killed-answer.test.ts',
  'test/browser/**/*.test.ts',
  'test/console/**/*.test.ts',
  'test/client/cli/apply.test.ts',
  'test/client/cli/everyday.test.ts',
  'test/client/cli/folder.test.ts',
  'test/client/cli/program.test.ts',
  'test/client/cli/terminal.test.ts',
  'test/client/cli/journeys/program.test.ts',
  'test/client/cli/journeys/replay.test.ts',
  'test/client/package.test.ts',
  'test/client/python-client.test.ts',
  'test/conformance/**/*.test.ts',
  'test/db/emails/finding-mail.test.ts',
  'test/guides/**/*.test.ts',
  'test/providers/rendering/renderer.test.ts',
  'test/workflows/campaigns/campaign-outcomes.test.ts',
  'test/workflows/campaigns/campaign-throttle.test.ts',
  'test/workflows/campaigns/experiment-killed.test.ts',
  'test/workflows/campaigns/local-time.test.ts',
  'test/workflows/campaigns/retry-killed.test.ts',
  'test/workflows/delivery/progress.test.ts',
  'test/workflows/emails/held.test.ts',
  'test/workflows/emails/killed-receiver.test.ts',
  'test/workflows/emails/killed-worker.test.ts',
  'test/workflows/emails/many-reports.test.ts',
  'test/workflows/emails/lost-answers.test.ts',
  'test/workflows/emails/routing-faults.test.ts',
  'test/workflows/emails/scheduled.test.ts',
  'test/workflows/emails/signed.test.ts',
  'test/workflows/emails/stopped.test.ts',
  'test/workflows/executions/move-waits.test.ts',
  'test/workflows/executions/retry-all.test.ts',
  'test/workflows/projects/project-deletion.test.ts',
  'test/workflows/projects/project-reset.test.ts',
  'test/workflows/ramps/**/*.test.ts',
  'test/workflows/replay/replay-options.test.ts',
  'test/workflows/replay/replay-runs.test.ts',
  'test/workflows/replay/reset.test.ts',
  'test/workflows/schedules/firings.test.ts',
  'test/workflows/subscriptions/back-off.test.ts',
  'test/workflows/subscriptions/batches.test.ts',
  'test/workflows/subscriptions/campaigns.test.ts',
  'test/workflows/subscriptions/delivery.test.ts',
  'test/workflows/subscriptions/neighbours.test.ts',
  'test/workflows/upkeep/fairness.test.ts',
  'test/workflows/upkeep/killed-announcement.test.ts',
  'test/workflows/upkeep/metrics.test.ts',
  'test/workflows/upkeep/worker-process.test.ts',
];

/** Both slow and alone. */
const slowAlone = [
  'test/deploy/commands.test.ts',
  'test/deploy/helm.test.ts',
  'test/dev/*.test.ts',
  'test/simulation/simulate.test.ts',
  'test/workflows/replay/divergence.test.ts',
  'test/workflows/replay/replay.test.ts',
];

const settings = {
  // Several times what a test takes alone: other work may have both cores.
  testTimeout: 90_000,
  hookTimeout: 120_000,
  pool: 'forks',
} as const;

/** Files whose processes share their modules: to load them for each took a third of the time. */
function together(name: string, include: string[], exclude: string[] = []) {
  const excluded = [...configDefaults.exclude, ...exclude];
  return { test: { ...settings, name, include, exclude: excluded, isolate: false } };
}

/** All tests. The setup starts one PostgreSQL and one Temporal server for the whole run. */
export default defineConfig({
  test: {
    ...settings,
    globalSetup: ['test/support/processes/global-setup.ts'],
    // One more than the smallest machine has cores: many tests wait for time or for other processes.
    maxWorkers: 3,
    projects: [
      together('together', ['test/**/*.test.ts'], [rare, ...alone, ...slow, ...slowAlone]),
      { test: { ...settings, name: 'alone', include: alone } },
      together('slow', slow),
      { test: { ...settings, name: 'slow-alone', include: slowAlone } },
    ],
  },
});
