import { domainToASCII } from 'node:url';
import { type Mailer, stopped } from './mailer.ts';

/** Maximum number of characters of a provider's error text. */
const errorCharsMax = 500;

/**
 * Wraps a mailer with rules that hold for all mailers. Domains are in ASCII. Errors are short and
 * on one line, and no exception is thrown. The journal notes the beginning and the end of each
 * message. `close` waits until the messages that are being sent have ended.
 */
export function guarded(mailer: Mailer): Mailer {
  let underWay = 0;
  let onRest = () => {};
  let closing: Promise<void> | undefined;
  async function end(): Promise<void> {
    if (underWay > 0) await new Promise<void>((resolve) => (onRest = resolve));
    await mailer.close();
  }
  return {
    ...mailer,
    async send(message) {
      if (message.mayBegin?.() === false) return stopped;
      if (!mailer.notesBegin && message.notes?.begin() === false) return stopped;
      underWay += 1;
      try {
        const outcome = await mailer.send({ ...message, to: withAsciiDomain(message.to) });
        message.notes?.end(outcome);
        if (outcome.kind === 'accepted') return outcome;
        return { ...outcome, error: oneLine(outcome.error) };
      } catch (error) {
        // An unexpected error may have happened before or after the message was sent, so only
        // "uncertain" is safe.
        return { kind: 'uncertain', error: oneLine(String(error)) };
      } finally {
        underWay -= 1;
        if (underWay === 0) onRest();
      }
    },
    close: () => (closing ??= end()),
  };
}

function withAsciiDomain(address: string): string {
  const at = address.lastIndexOf('@');
  // An invalid domain gives an empty result. The domain is then left unchanged, because the
  // provider's own error explains the problem best.
  const domain = domainToASCII(address.slice(at + 1)) || address.slice(at + 1);
  return `${address.slice(0, at + 1)}${domain}`;
}

/** Returns a text of a provider as one line of limited length. */
export function oneLine(text: string): string {
  const line = text.replace(/[\p{Cc}\s]+/gu, ' ').trim();
  return line.length > errorCharsMax ? `${line.slice(0, errorCharsMax - 1)}…` : line;
}
