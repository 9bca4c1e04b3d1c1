import type { OutgoingMessage } from '../mailer.ts';
import type { Trial, TrialFailure } from '../trial.ts';
import { Dialogue } from './dialogue.ts';
import { commandsFor, dataEnd, dotStuffed } from './message.ts';
import {
  isPositive,
  openSession,
  type Session,
  type SessionError,
  type SmtpSettings,
} from './session.ts';
import { type Reply, replyText } from './wire.ts';

/** Tests an SMTP server: connects, encrypts, logs in, and sends a message if one is given. */
export async function trySmtp(
  settings: SmtpSettings,
  message: OutgoingMessage | null,
  ms: number,
): Promise<Trial> {
  const startedAt = Date.now();
  let session: Session;
  try {
    session = await openSession({ ...settings, sessionMs: ms });
  } catch (error) {
    const { stage, reply, message: text } = error as SessionError;
    return {
      stage,
      tls: null,
      code: reply?.code ?? null,
      message: reply ? replyText(reply) : text,
    };
  }
  const { wire } = session;
  const tls = wire.tlsProtocol;
  const timer = setTimeout(
    () => wire.end(new Error('The mail server did not answer in time.')),
    Math.max(0, startedAt + ms - Date.now()),
  );
  try {
    const shown = message ? await give(session, message) : accepted(null);
    return { ...shown, tls };
  } finally {
    clearTimeout(timer);
    void wire.quit();
  }
}

function accepted(reply: Reply | null): Omit<Trial, 'tls'> {
  return { stage: null, code: reply?.code ?? null, message: reply && replyText(reply) };
}

/** Sends one message, command by command. */
async function give(session: Session, message: OutgoingMessage): Promise<Omit<Trial, 'tls'>> {
  const dialogue = new Dialogue(session.wire);
  const { mail, rcpt } = commandsFor(message, session);
  const { raw } = message;
  const body = Buffer.concat([dotStuffed(raw, true), Buffer.from(dataEnd(raw))]);
  const steps: [stage: TrialFailure, text: string | Buffer, isTaken: (reply: Reply) => boolean][] =
    [
      ['sender', mail, isPositive],
      ['recipient', rcpt, isPositive],
      ['data', 'DATA\r\n', ({ code }) => code === 354],
      ['data', body, isPositive],
    ];
  let last: Reply | null = null;
  for (const [stage, text, isTaken] of steps) {
    try {
      last = await dialogue.write(text);
    } catch (error) {
      return { stage, code: null, message: (error as Error).message };
    }
    if (!isTaken(last)) return { ...accepted(last), stage };
  }
  return accepted(last);
}
