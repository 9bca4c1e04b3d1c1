import type { Mailer, OutgoingMessage, SendOutcome } from '../mailer.ts';
import type { MailerKey, OpenMailer, OpenMailers } from './open-mailers.ts';

/** Milliseconds after which a message has an outcome, however slowly the server replies. */
const sendMsDefault = 45_000;
/** Milliseconds after which a message without a mailer is tried again. */
const noRoomMs = 5_000;

export interface LimitedMailerSettings {
  key: MailerKey;
  /** Makes the mailer of the key. */
  make: () => Mailer;
  open: OpenMailers;
  sendMs?: number | undefined;
  /** Properties that the mailer has before it is made. */
  traits: Pick<
    Mailer,
    'provider' | 'hasSimulator' | 'defaultRatePerSecond' | 'maxConcurrency' | 'notesBegin'
  >;
}

/**
 * The mailer of a provider whose server a project has chosen. It is open only while it is used, and
 * each message has an outcome after `sendMs`.
 */
export function limitedMailer({
  key,
  make,
  open,
  sendMs = sendMsDefault,
  traits,
}: LimitedMailerSettings): Mailer {
  async function use<T>(taken: OpenMailer, work: Promise<T>, onLate: () => T): Promise<T> {
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<T>((resolve) => {
      timer = setTimeout(() => {
        // Its connections are not used again: the server may keep each of them waiting forever.
        open.retire(taken);
        resolve(onLate());
      }, sendMs);
    });
    try {
      return await Promise.race([work, late]);
    } finally {
      clearTimeout(timer);
      open.release(taken);
    }
  }
  return {
    ...traits,
    async send(message) {
      let taken: OpenMailer | null;
      try {
        taken = open.take(key, make);
      } catch (error) {
        return { kind: 'retry', error: error instanceof Error ? error.message : String(error) };
      }
      if (!taken) return noRoom;
      const limited = limitMessage(message, { hasBegun: traits.notesBegin !== true });
      return use(taken, taken.mailer.send(limited.message), () => limited.end(sendMs));
    },
    // The project says how much its provider takes.
    async quotaPerSecond() {
      return null;
    },
    async close() {},
  };
}

const noRoom: SendOutcome = {
  kind: 'retry',
  error: 'Too many mail servers of projects are in use by this worker.',
  retryAfterMs: noRoomMs,
  isAboutMessage: true,
};

/**
 * Returns the message with a switch: after `end`, the mailer can no longer begin to hand it over.
 * `end` returns the outcome at that moment.
 * @param given.hasBegun true if the mailer does not say when the provider may accept the message
 */
function limitMessage(
  message: OutgoingMessage,
  given: { hasBegun: boolean },
): { message: OutgoingMessage; end(ms: number): SendOutcome } {
  let isLate = false;
  let { hasBegun } = given;
  return {
    message: {
      ...message,
      mayBegin: () => !isLate && message.mayBegin?.() !== false,
      notes: {
        begin() {
          if (isLate || message.notes?.begin() === false) return false;
          hasBegun = true;
          return true;
        },
        end(outcome) {
          if (!isLate) message.notes?.end(outcome);
        },
      },
    },
    end(ms) {
      isLate = true;
      const error = `The mail server did not take the message within ${ms / 1000} seconds.`;
      return { kind: hasBegun ? 'uncertain' : 'retry', error };
    },
  };
}
