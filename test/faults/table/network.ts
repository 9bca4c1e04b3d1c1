import type { Fault } from './faults.ts';
import type { Lines } from './world.ts';

/** Connections between two programs that break, drop all data, or are slow. */

const lines: readonly (keyof Lines)[] = [
  'API–PostgreSQL',
  'worker–PostgreSQL',
  'API–Temporal',
  'worker–Temporal',
  'worker–SMTP',
];
const lastsMs = 8_000;
const slowMs = 150;

export const network: readonly Fault[] = lines.flatMap((name): Fault[] => [
  {
    name: `line ${name} cut for ${lastsMs / 1000} s`,
    lastsMs,
    breaks({ world }) {
      const line = world.lines[name];
      line.mode = 'closed';
      line.cut();
      return async () => void (line.mode = 'open');
    },
  },
  {
    name: `line ${name} silent for ${lastsMs / 1000} s`,
    lastsMs,
    breaks({ world }) {
      const line = world.lines[name];
      line.mode = 'silent';
      return async () => {
        line.mode = 'open';
        // The connection dropped data, so it must be closed.
        line.cut();
      };
    },
  },
  {
    name: `line ${name} ${slowMs} ms late each way`,
    lastsMs,
    breaks({ world }) {
      const line = world.lines[name];
      line.delayMs = slowMs;
      return async () => void (line.delayMs = 0);
    },
  },
]);
