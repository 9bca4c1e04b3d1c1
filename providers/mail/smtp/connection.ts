import { type OutgoingMessage, type SendOutcome, stopped } from '../mailer.ts';
import {
  brokenOutcome,
  commandsFor,
  dataEnd,
  dotStuffed,
  negativeOutcome,
  startsLine,
} from './message.ts';
import { type Session, isPositive } from './session.ts';
import { type Reply, replyText } from './wire.ts';

/** A message that waits to be sent. */
export interface Delivery {
  message: OutgoingMessage;
  resolve: (outcome: SendOutcome) => void;
  /** Latest time at which a connection may take the message, in milliseconds since 1970. */
  startBy: number;
  /**
   * True in the second and last try. A second try follows if a connection ended before it began the
   * message.
   */
  isSecondTry: boolean;
}

export interface DeliveryQueue {
  /** Returns the next waiting message. `isFresh`: the connection has not had any message yet. */
  take(isFresh: boolean): Delivery | undefined;
  /** Puts a message back that was certainly not accepted. */
  putBack(delivery: Delivery): void;
  /**
   * Called when the server has replied to a whole message, `ms` milliseconds after its end was
   * sent.
   */
  onAnswer(ms: number): void;
  /** Called when the connection has no message to send. */
  onIdle(connection: SmtpConnection): void;
  /** Called when the connection has ended or will take no more messages. */
  onEnd(connection: SmtpConnection): void;
}

/**
 * Bytes of a message that are written at a time. The message is written in pieces, so that the
 * connection knows if the end of the message may have been sent.
 */
const chunkBytes = 64 * 1024;
/**
 * Number of messages after which a connection is replaced. So a changed address of the server takes
 * effect.
 */
const messagesMax = 1_000;
/** Milliseconds after which an unused connection is closed, before most servers would close it. */
const idleMs = 60_000;

/** One message that the connection is sending. */
interface Transaction {
  delivery: Delivery;
  /**
   * The command whose reply comes next. `body`: the message is being written. `end`: the end of the
   * message may have been sent. `nothing`: an empty message was sent, because the server expected
   * data although it had refused the recipient.
   */
  stage: 'RSET' | 'MAIL' | 'RCPT' | 'DATA' | 'body' | 'end' | 'nothing';
  /** The reply that refused the sender or the recipient; null: neither was refused. */
  refusal: { what: 'the sender' | 'the recipient'; reply: Reply } | null;
}

/**
 * A connection that sends messages one after the other. While one message is written, the commands
 * of the next message follow in the same packet (RFC 2920, 3.1), so each message takes one round
 * trip instead of four. Each message has its own outcome.
 */
export class SmtpConnection {
  readonly #session: Session;
  readonly #queue: DeliveryQueue;
  /** The message whose reply comes next. */
  #current: Transaction | null = null;
  /** The message whose commands were written after the current message. */
  #next: Transaction | null = null;
  /** True if the server may still have the sender of a refused message, so RSET must come first. */
  #needsReset = false;
  /** When the end of the current message was sent, in milliseconds. */
  #endedAt = 0;
  #handled = 0;
  #hasEnded = false;
  #idleTimer: NodeJS.Timeout | undefined;

  constructor(session: Session, queue: DeliveryQueue) {
    this.#session = session;
    this.#queue = queue;
    session.wire.onReply = (reply) => this.#onReply(reply);
    session.wire.onEnd = (error) => this.#end(error.message);
  }

  /**
   * Begins the next message. Returns false if no message is waiting; then the connection stays
   * idle.
   */
  work(): boolean {
    const delivery = this.#take(this.#handled === 0);
    clearTimeout(this.#idleTimer);
    if (!delivery) {
      this.#idleTimer = setTimeout(() => this.#retire(), idleMs).unref();
      return false;
    }
    this.#current = this.#begin(delivery);
    this.#session.wire.write(this.#firstCommands(this.#current));
    return true;
  }

  /** Closes a connection that is sending no message. Resolves when it is closed. */
  quit(): Promise<void> {
    clearTimeout(this.#idleTimer);
    this.#hasEnded = true;
    return this.#session.wire.quit();
  }

  /** Returns the next message that this server can accept. */
  #take(isFresh: boolean): Delivery | undefined {
    const { bytesMax } = this.#session;
    for (;;) {
      const delivery = this.#queue.take(isFresh);
      if (delivery && isStopped(delivery)) {
        delivery.resolve(stopped);
        continue;
      }
      if (!delivery || bytesMax === 0 || delivery.message.raw.length <= bytesMax) return delivery;
      const { length } = delivery.message.raw;
      const error = `The message has ${length} bytes, but the mail server accepts at most ${bytesMax}.`;
      delivery.resolve({ kind: 'refused', error });
    }
  }

  #begin(delivery: Delivery): Transaction {
    return { delivery, stage: this.#needsReset ? 'RSET' : 'MAIL', refusal: null };
  }

  /** Returns the first commands of a message: all at once, if the server supports that. */
  #firstCommands({ delivery, stage }: Transaction): string {
    const { pipelining } = this.#session;
    const { mail, rcpt } = commandsFor(delivery.message, this.#session);
    if (pipelining) return `${stage === 'RSET' ? 'RSET\r\n' : ''}${mail}${rcpt}DATA\r\n`;
    return stage === 'RSET' ? 'RSET\r\n' : mail;
  }

  #onReply(reply: Reply): void {
    const current = this.#current;
    if (!current) return this.#end(`The server ended the connection: ${replyText(reply)}`);
    // 421: the server closes the connection, whatever the command was. 503: the server expected
    // another command.
    const isLast = reply.code === 421 || (reply.code === 503 && !current.refusal);
    if (isLast && current.stage !== 'end') {
      return this.#end(replyText(reply), reply);
    }
    const { wire, pipelining } = this.#session;
    switch (current.stage) {
      case 'RSET': {
        if (!isPositive(reply)) return this.#end(replyText(reply));
        this.#needsReset = false;
        current.stage = 'MAIL';
        if (!pipelining) wire.write(this.#firstCommands(current));
        return undefined;
      }
      case 'MAIL': {
        if (isPositive(reply)) this.#needsReset = true;
        else current.refusal = { what: 'the sender', reply };
        current.stage = 'RCPT';
        if (pipelining) return undefined;
        if (current.refusal) return this.#refuse(current);
        wire.write(commandsFor(current.delivery.message, this.#session).rcpt);
        return undefined;
      }
      case 'RCPT': {
        if (!isPositive(reply)) current.refusal ??= { what: 'the recipient', reply };
        current.stage = 'DATA';
        if (pipelining) return undefined;
        if (current.refusal) return this.#refuse(current);
        wire.write('DATA\r\n');
        return undefined;
      }
      case 'DATA':
        return this.#onData(current, reply);
      case 'body':
        // The server replied before it had the whole message, so the connection cannot be used
        // further.
        return this.#end(replyText(reply), reply);
      case 'end': {
        this.#needsReset = false;
        this.#queue.onAnswer(performance.now() - this.#endedAt);
        const messageId = `${current.delivery.message.emailId}@smtp`;
        if (isPositive(reply)) {
          const { isUnreported } = this.#session;
          return this.#finish({ kind: 'accepted', messageId, delivered: false, isUnreported });
        }
        if (isLast) return this.#end(replyText(reply), reply);
        return this.#finish(negativeOutcome('the message', reply, true));
      }
      case 'nothing': {
        this.#needsReset = false;
        return this.#refuse(current);
      }
    }
  }

  /** Handles the reply to DATA. The code should be 354, but some servers use 250. */
  #onData(current: Transaction, reply: Reply): void {
    const goesOn = reply.code < 400;
    const { refusal } = current;
    if (!goesOn) {
      if (refusal) return this.#refuse(current);
      return this.#finish(negativeOutcome('the data', reply, false));
    }
    // The server wants data although it refused the sender, and might accept an empty message. So
    // the connection must end.
    if (refusal?.what === 'the sender') return this.#end(replyText(refusal.reply));
    if (!refusal && isStopped(current.delivery)) return this.#stop(current);
    if (!refusal) return this.#writeBody(current, 0);
    // The server wants data although it accepted no recipient. Only the final dot ends this state.
    current.stage = 'nothing';
    this.#writeLast('.\r\n', '');
    return undefined;
  }

  /**
   * Writes the message from byte `at` on. Each chunk is written when the operating system has taken
   * the previous chunk. So if the connection ends before the last chunk, the server cannot have the
   * whole message.
   */
  #writeBody(current: Transaction, at: number): void {
    if (this.#hasEnded) return;
    current.stage = 'body';
    const { raw } = current.delivery.message;
    const { wire } = this.#session;
    const end = at + chunkBytes;
    const chunk = dotStuffed(raw.subarray(at, end), startsLine(raw, at));
    if (end < raw.length) {
      if (wire.write(chunk)) this.#writeBody(current, end);
      else wire.onceDrained(() => this.#writeBody(current, end));
      return;
    }
    if (current.delivery.message.notes?.begin() === false) return this.#stop(current);
    current.stage = 'end';
    this.#writeLast(chunk, dataEnd(raw));
  }

  /**
   * Stops a message for which the server already waits. Only the end of the connection stops it.
   */
  #stop({ delivery }: Transaction): void {
    delivery.resolve(stopped);
    this.#current = null;
    this.#end('Sending was stopped before the message was complete.');
  }

  /**
   * Writes the last bytes of a message. If another message waits, its commands are written in the
   * same packet.
   */
  #writeLast(chunk: Buffer | string, dataEnd: string): void {
    const { wire, pipelining } = this.#session;
    this.#needsReset = false;
    const isFull = this.#handled + 1 >= messagesMax;
    const delivery = pipelining && !isFull ? this.#take(false) : undefined;
    this.#next = delivery ? this.#begin(delivery) : null;
    this.#endedAt = performance.now();
    wire.write(chunk, dataEnd + (this.#next ? this.#firstCommands(this.#next) : ''));
  }

  #refuse({ refusal }: Transaction): void {
    if (refusal) this.#finish(negativeOutcome(refusal.what, refusal.reply, false));
  }

  /** Reports the outcome of the current message and begins the next message. */
  #finish(outcome: SendOutcome): void {
    const delivery = this.#current?.delivery;
    this.#handled += 1;
    this.#current = this.#next;
    this.#next = null;
    delivery?.resolve(outcome);
    if (this.#current) {
      if (Date.now() > this.#current.delivery.startBy)
        this.#end('The mail server took too long for earlier messages of this connection.');
    } else if (this.#handled >= messagesMax) {
      this.#retire();
    } else if (!this.work()) {
      this.#queue.onIdle(this);
    }
  }

  #retire(): void {
    void this.quit();
    this.#queue.onEnd(this);
  }

  /**
   * Ends the connection. Messages that it was sending get their outcome, or another try. A message
   * is uncertain only if its end may have been sent, or if a positive reply came before its end.
   * @param reply the server's last reply to the current message
   */
  #end(error: string, reply?: Reply): void {
    if (this.#hasEnded) return;
    this.#hasEnded = true;
    clearTimeout(this.#idleTimer);
    this.#session.wire.end(new Error(error));
    const [current, next] = [this.#current, this.#next];
    this.#current = null;
    this.#next = null;
    if (next) this.#tryAgain(next.delivery, error);
    if (current) {
      const { delivery, stage, refusal } = current;
      // After an early positive reply, the server may have accepted the message.
      const isComplete = stage === 'end' || (reply !== undefined && isPositive(reply));
      if (refusal) delivery.resolve(negativeOutcome(refusal.what, refusal.reply, false));
      else if (stage !== 'body' && stage !== 'end' && this.#handled > 0)
        this.#tryAgain(delivery, error, reply);
      else if (reply) delivery.resolve(negativeOutcome('the message', reply, isComplete));
      else delivery.resolve(brokenOutcome(error, isComplete));
    }
    this.#queue.onEnd(this);
  }

  /**
   * Puts a message back to be tried again, unless this was its second try. A second try is safe,
   * because no byte of the content was written. Such ends are common, because servers close
   * connections after a time or after some messages.
   */
  #tryAgain(delivery: Delivery, error: string, reply?: Reply): void {
    if (!delivery.isSecondTry) {
      delivery.isSecondTry = true;
      this.#queue.putBack(delivery);
    } else if (reply) delivery.resolve(negativeOutcome('the message', reply, false));
    else delivery.resolve(brokenOutcome(error, false));
  }
}

function isStopped({ message: { mayBegin } }: Delivery): boolean {
  return mayBegin !== undefined && !mayBegin();
}
