import ipaddr from 'ipaddr.js';
import PostalMime, { decodeWords, type Email } from 'postal-mime';
import { z } from 'zod';
import {
  findMailboxMessage,
  listMailboxMessages,
  type MailboxSummary,
} from '../../db/emails/mailbox.ts';
import { notFound, Problem } from '../../domain/errors.ts';
import { isUuid } from '../../domain/ids.ts';
import { answer, type Call, endpoint, page } from '../http/endpoint.ts';
import { mailboxPage, pagePolicy } from './mailbox-page.ts';
import { exampleOf, present } from '../http/record.ts';
import { named, queryInt, Time } from '../http/schemas.ts';
import { lowerAscii } from '../../domain/email-address.ts';

const Summary = named('MailboxSummary', {
  id: z.uuid().meta({ examples: ['c4b6d7c2-93cf-4e0a-8b1b-0a6f1f5f3e21'] }),
  from: z.string().meta({ examples: ['team@shop.test'] }),
  to: z.string().meta({ examples: ['ada@people.test'] }),
  subject: z.string().meta({ examples: ['Hi Ada'] }),
  receivedAt: Time,
});

const Mail = Summary.extend({
  headers: z.record(z.string(), z.union([z.string(), z.array(z.string())])),
  html: z.string().nullable(),
  text: z.string().nullable(),
  attachments: z.array(
    z.object({ filename: z.string().nullable(), contentType: z.string(), size: z.int() }),
  ),
  raw: z.string(),
});

const example = exampleOf(Summary);

const mailboxSizeDefault = 50;

const listMailbox = endpoint({
  id: 'listMailbox',
  method: 'GET',
  path: '/local/mailbox',
  summary: 'List the mails caught on this machine; a page for browsers',
  description:
    'Only on a server that sends no real mail, and only for this machine and its network: ' +
    'ROUTE_NOT_FOUND otherwise. The newest first, at most 100, by default 50.',
  access: 'open',
  otherAnswers: [{ status: 200, description: 'a page', contentTypes: ['text/html'] }],
  query: z.object({
    to: z.string().optional().meta({ description: 'One recipient' }),
    limit: queryInt(1, 100, mailboxSizeDefault),
    mail: z.string().optional().meta({ description: 'The mail to show' }),
  }),
  response: z.array(Summary),
  problems: ['ROUTE_NOT_FOUND'],
  example: { response: [example] },
  async handle(call) {
    refuseStrangers(call);
    const { db, query, request } = call;
    const to = query.to === undefined ? undefined : lowerAscii(query.to.trim());
    const mails = (await listMailboxMessages(db, { to, limit: query.limit })).map(presentSummary);
    if (!/\btext\/html\b/i.test(request.header('accept'))) {
      return answer(mails, { headers: { Vary: 'Accept' } });
    }
    const chosen = await findMail(call, query.mail ?? mails[0]?.id ?? '');
    return page(mailboxPage({ mails, chosen, to: to ?? '' }), {
      'Content-Security-Policy': pagePolicy,
      'Cache-Control': 'no-store',
      Vary: 'Accept',
    });
  },
});

const getMailboxMail = endpoint({
  id: 'getMailboxMail',
  method: 'GET',
  path: '/local/mailbox/{id}',
  summary: 'Get one caught mail',
  description:
    'Only on a server that sends no real mail, and only for this machine and its network: ' +
    'ROUTE_NOT_FOUND otherwise. EMAIL_NOT_FOUND: the mailbox no longer has it.',
  access: 'open',
  params: z.object({ id: z.string() }),
  response: Mail,
  problems: ['ROUTE_NOT_FOUND', 'EMAIL_NOT_FOUND'],
  example: {
    response: {
      ...example,
      headers: { from: 'team@shop.test', to: 'ada@people.test', subject: 'Hi Ada' },
      html: '<p>Hi Ada</p>',
      text: 'Hi Ada',
      attachments: [{ filename: 'a.txt', contentType: 'text/plain', size: 2 }],
      raw: 'From: team@shop.test\r\nTo: ada@people.test\r\nSubject: Hi Ada\r\n\r\n…',
    },
  },
  async handle(call) {
    refuseStrangers(call);
    const mail = await findMail(call, call.params.id);
    if (!mail) throw notFound('EMAIL', call.params.id);
    return presentMail(mail);
  },
});

export const mailboxEndpoints = [listMailbox, getMailboxMail];

/**
 * Refuses all clients except this machine and its network, because the mailbox shows every mail
 * without a login. A private client address does not suffice:
 * - A page of another site can send requests through the user's browser, with a host name that
 * resolves to this server (DNS rebinding). So the host must be a private IP address or this
 * server's own name.
 * - Behind a proxy, every client has the proxy's address. So requests with headers of a proxy are
 * refused.
 * @throws Problem ROUTE_NOT_FOUND
 */
function refuseStrangers({ config, request }: Pick<AnyCall, 'config' | 'request'>): void {
  const { mailboxReaders } = config.mail.sender;
  const isNear =
    isPrivateAddress(request.ip) &&
    !forwardingHeaders.some((name) => request.header(name) !== '') &&
    isOwnHost(request.header('host'), config.apiUrl);
  if (mailboxReaders === 'all' || (mailboxReaders === 'private' && isNear)) return;
  throw new Problem('ROUTE_NOT_FOUND');
}

/** Headers that proxies add: RFC 9110 §7.6.3 (Via), RFC 7239 (Forwarded), and common ones. */
const forwardingHeaders = [
  'Via',
  'Forwarded',
  'X-Forwarded-For',
  'X-Forwarded-Host',
  'X-Forwarded-Proto',
  'X-Forwarded-Port',
  'X-Forwarded-Server',
  'X-Real-IP',
];

const privateRanges = new Set(['loopback', 'private', 'linkLocal', 'uniqueLocal']);

function isPrivateAddress(ip: string): boolean {
  return ipaddr.isValid(ip) && privateRanges.has(ipaddr.process(ip).range());
}

/**
 * Returns true for a host name of this server, or a private IP address.
 * @param host as in the Host header, with or without a port.
 */
function isOwnHost(host: string, apiUrl: string): boolean {
  if (!URL.canParse(`http://${host}`)) return false;
  const name = new URL(`http://${host}`).hostname.replace(/^\[|\]$/g, '');
  return name === 'localhost' || name === new URL(apiUrl).hostname || isPrivateAddress(name);
}

type AnyCall = Call<'open', unknown, unknown, unknown>;
type FoundMail = ReturnType<typeof presentSummary> & { email: Email; raw: string };

async function findMail({ db }: Pick<AnyCall, 'db'>, id: string): Promise<FoundMail | null> {
  const row = isUuid(id) ? await findMailboxMessage(db, id) : undefined;
  if (!row) return null;
  const email = await PostalMime.parse(row.raw, { attachmentEncoding: 'base64' });
  return { ...presentSummary(row), email, raw: row.raw.toString('utf8') };
}

function presentSummary(row: MailboxSummary) {
  return present(Summary, row, { from: row.sender, to: row.recipient });
}

function presentMail({ email, ...mail }: FoundMail): z.input<typeof Mail> {
  const headers = new Map<string, string | string[]>();
  for (const { key, value } of email.headers) {
    const before = headers.get(key);
    const readable = decodeWords(value);
    headers.set(key, before === undefined ? readable : [before, readable].flat());
  }
  return {
    ...mail,
    headers: Object.fromEntries(headers),
    html: email.html ?? null,
    text: email.text ?? null,
    attachments: email.attachments.map((attachment) => ({
      filename: attachment.filename,
      contentType: attachment.mimeType,
      size: Buffer.byteLength(attachment.content as string, 'base64'),
    })),
  };
}
