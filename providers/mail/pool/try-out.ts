import type { StoredProvider } from '../../../domain/provider/provider.ts';
import { oneLine } from '../guarded-mailer.ts';
import { type Mailer, type OutgoingMessage, stopped } from '../mailer.ts';
import { trySes } from '../ses/trial.ts';
import { trySmtp } from '../smtp/trial.ts';
import type { Trial } from '../trial.ts';
import {
  ownerOf,
  type ServerRules,
  serverOf,
  sesSettingsOf,
  smtpSettingsOf,
  traitsOf,
} from './stored-provider.ts';

/** Maximum number of milliseconds of a trial. */
const trialMs = 15_000;

/**
 * Tests the provider of a project, and sends a message if one is given.
 * @param given.prepare wraps the mailer as for all other mail, so that the message is signed
 */
export async function tryOut(
  stored: StoredProvider,
  message: OutgoingMessage | null,
  given: {
    cipher: { decrypt(bytes: Buffer): string };
    rules: ServerRules;
    prepare(mailer: Mailer): Mailer;
  },
): Promise<Trial> {
  const { cipher, rules, prepare } = given;
  const server = serverOf(stored, cipher);
  const owner = ownerOf(stored, rules);
  const attempt = async (mail: OutgoingMessage | null): Promise<Trial> => {
    const trial =
      server.kind === 'smtp'
        ? await trySmtp(smtpSettingsOf(server, owner, rules), mail, trialMs)
        : await trySes(sesSettingsOf(server, owner, rules), mail, trialMs);
    return { ...trial, message: trial.message && oneLine(trial.message) };
  };
  if (!message) return attempt(null);
  let trial: Trial | undefined;
  const mailer = prepare({
    ...traitsOf(stored, rules),
    async send(signed) {
      trial = await attempt(signed);
      return stopped;
    },
    quotaPerSecond: async () => null,
    close: async () => {},
  });
  const outcome = await mailer.send(message);
  const error = 'error' in outcome ? outcome.error : null;
  return trial ?? { stage: 'data', tls: null, code: null, message: error };
}
