import { reconcileCommand } from './reconcile.ts';
import { type Command, run } from './run.ts';

/** The commands for operators of a server: `npm run <command>`, or `node dist/ops/main.js <command>`. */

const commands: readonly Command[] = [reconcileCommand];

process.exit(await run(commands, process.argv.slice(2), process.env));
