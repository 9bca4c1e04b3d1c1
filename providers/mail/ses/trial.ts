import type { SESv2ServiceException } from '@aws-sdk/client-sesv2';
import type { OutgoingMessage } from '../mailer.ts';
import type { Trial, TrialFailure } from '../trial.ts';
import { sesClient } from './client.ts';
import { inputFor, type SesSettings, wire, WireError } from './mailer.ts';

/** Tests an account at Amazon SES: asks for its quota, and sends a message if one is given. */
export async function trySes(
  settings: SesSettings,
  message: OutgoingMessage | null,
  ms: number,
): Promise<Trial> {
  const requests = wire(ms, 1);
  const opened = sesClient(settings, { maxAttempts: 1, requestHandler: requests });
  const late = new AbortController();
  const timer = setTimeout(() => late.abort(), ms);
  try {
    const { client, sdk } = await opened();
    const given = { abortSignal: late.signal };
    if (message) await client.send(new sdk.SendEmailCommand(inputFor(message, settings)), given);
    else await client.send(new sdk.GetAccountCommand({}), given);
    return { stage: null, tls: null, code: 200, message: null };
  } catch (error) {
    return failureOf(error, message !== null);
  } finally {
    clearTimeout(timer);
    requests.destroy();
  }
}

/** Errors that mean that the credentials are valid but do not allow this call. */
const denied = new Set(['AccessDeniedException', 'AccessDenied']);

function failureOf(error: unknown, isMessage: boolean): Trial {
  const none = { tls: null, code: null };
  if (error instanceof WireError) return { ...none, stage: 'connect', message: error.message };
  const { name = 'Error', message, $metadata } = error as Partial<SESv2ServiceException>;
  const code = $metadata?.httpStatusCode ?? null;
  if (code === null) return { ...none, stage: 'connect', message: String(error) };
  // A key that may only send mail is valid, too.
  if (denied.has(name) && !isMessage) return { stage: null, tls: null, code, message: null };
  // The error text is left out, because it may quote the signed request.
  if (code === 401 || code === 403) return { stage: 'auth', tls: null, code, message: name };
  return { stage: stageOf(name, message), tls: null, code, message: `${name}: ${message}` };
}

function stageOf(name: string, message = ''): TrialFailure {
  const isSender = name.startsWith('MailFromDomain') || /address is not verified/i.test(message);
  return isSender ? 'sender' : 'data';
}
