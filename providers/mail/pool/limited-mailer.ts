import type { Mailer, OutgoingMessage, SendOutcome } from '../mailer.ts';
import type { MailerKey, OpenMailer, OpenMailers } from './open-mailers.ts';

/** Maximum number of milliseconds until a message has an outcome, even if the server is slow. */
const sendMsDefault = 45_000;
/** Milliseconds until the next try of a message for which no mailer was free. */
const noRoomMs = 5_000;

export interface LimitedMailerSettings {
  key: MailerKey;
  /** Creates the mailer for the key. */
  make: () => Mailer;
  open: OpenMailers;
  sendMs?: number | undefined;
  /** Properties of the mailer that are needed before it is created. */
  traits: Pick<
    Mailer,
    'provider' | 'hasSimulator' | 'defaultRatePerSecond' | 'maxConcurrency' | 'notesBegin'
  >;
}

/**
 * Creates the mailer of a provider whose server a project has chosen. The mailer is open only while
 * it is used, and each message has an outcome after `sendMs`.
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
        // The connections of this mailer are not used again, because the server may let each of
        // them wait forever.
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
    // The rate is a setting of the project's provider.
    async quotaPerSecond() {
      return null;
    },
    async close() {},
  };
}

const noRoom: SendOutcome = {
  kind: 'retry',
  error:
    'This worker is connected to as many mail servers of projects as it may be. Sending is tried again soon.',
  retryAfterMs: noRoomMs,
  isAboutMessage: true,
};

/**
 * Returns the message with a function `end`. After a call of `end`, the mailer can no longer begin
 * to send the message. `end` returns the outcome of the message at that moment.
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
