import { completion } from './commands/completion.ts';
import { failures } from './commands/failures.ts';
import { importContacts } from './commands/import.ts';
import { login } from './commands/login.ts';
import { logout } from './commands/logout.ts';
import { logs } from './commands/logs.ts';
import { profiles } from './commands/profiles.ts';
import { send } from './commands/send.ts';
import { track } from './commands/track.ts';
import type { Command } from './frame/command.ts';

/** All commands, in the order of the help. */
export const commands: readonly Command[] = [
  login,
  logout,
  profiles,
  send,
  track,
  logs,
  failures,
  importContacts,
  completion,
];
