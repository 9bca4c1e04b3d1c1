import { completion } from './commands/completion.ts';
import { failures } from './commands/failures.ts';
import { importContacts } from './commands/import.ts';
import { login } from './commands/login.ts';
import { logout } from './commands/logout.ts';
import { logs } from './commands/logs.ts';
import { profiles } from './commands/profiles.ts';
import { replay } from './commands/replay.ts';
import { send } from './commands/send.ts';
import { test } from './commands/test.ts';
import { track } from './commands/track.ts';
import { apply } from './folder/apply.ts';
import { diff } from './folder/diff.ts';
import { plan } from './folder/plan.ts';
import { promote } from './folder/promote.ts';
import { pull } from './folder/pull.ts';
import type { Command } from './frame/command.ts';

/** All commands, in the order of the help. */
export const commands: readonly Command[] = [
  login,
  logout,
  profiles,
  pull,
  diff,
  plan,
  apply,
  promote,
  test,
  replay,
  send,
  track,
  logs,
  failures,
  importContacts,
  completion,
];
