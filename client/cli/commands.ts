import { login } from './commands/login.ts';
import { logout } from './commands/logout.ts';
import { profiles } from './commands/profiles.ts';
import { send } from './commands/send.ts';
import { track } from './commands/track.ts';
import type { Command } from './frame/command.ts';

/** All commands, in the order of the help. */
export const commands: readonly Command[] = [login, logout, profiles, send, track];
