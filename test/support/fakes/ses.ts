import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { listen, use } from '../use.ts';

export interface FakeSesEmail {
  messageId: string;
  to: string[];
  tags: Record<string, string>;
  configurationSet: string | null;
  raw: Buffer;
}

export interface FakeSesIdentity {
  tokens: string[];
  mailFrom: string | null;
  dkimStatus: 'PENDING' | 'SUCCESS' | 'FAILED';
  /** Creator of the DKIM keys; absent: SES. */
  dkimOrigin?: 'AWS_SES' | 'EXTERNAL';
}

/**
 * The failure of a request. `ok`: none; an object: an error response. `drop`: the connection
 * closes, and the mail is not accepted. `accept-then-drop`: accepted, but the response is lost.
 * `accept-then-cut`: accepted, but the response is incomplete. `silence`: accepted, without a
 * response.
 */
export type SesFault =
  | 'ok'
  | 'drop'
  | 'accept-then-drop'
  | 'accept-then-cut'
  | 'silence'
  | {
      status: number;
      type?: string;
      message?: string;
      headers?: Record<string, string>;
      /** A body that is not the JSON of SES, as proxies send it. */
      page?: string;
    };

export const sesThrottled: SesFault = {
  status: 429,
  type: 'TooManyRequestsException',
  message: 'Maximum sending rate exceeded.',
};
export const sesUnavailable: SesFault = { status: 503, type: 'ServiceUnavailable' };

export interface FakeSes {
  endpoint: string;
  /** Accepted emails, oldest first. */
  emails: FakeSesEmail[];
  identities: Map<string, FakeSesIdentity>;
  maxSendRate: number;
  /** Faults of the next requests, in order. */
  next: SesFault[];
  /** The fault of each further request; null: none. */
  always: SesFault | null;
  /** Milliseconds until each response. */
  delayMs: number;
  /** Number of requests, and number of connections that were used for them. */
  requests: number;
  connections: number;
  /** The key with which the last request was signed. */
  lastKeyId: string | null;
  /** Number of accepted emails with an email id. More than 1 means that a mail was sent twice. */
  countOf(emailId: string): number;
  close(): Promise<void>;
}

/**
 * Starts a server on loopback with the SES v2 operations that Everpost uses. The real SDK calls it.
 */
export async function useFakeSes(): Promise<FakeSes> {
  const server = createServer((request, response) => void serve(ses, request, response));
  server.on('connection', () => (ses.connections += 1));
  const ses: FakeSes = {
    endpoint: '',
    emails: [],
    identities: new Map(),
    maxSendRate: 14,
    next: [],
    always: null,
    delayMs: 0,
    requests: 0,
    connections: 0,
    lastKeyId: null,
    countOf: (id) => ses.emails.filter(({ tags }) => tags['everpost_email_id'] === id).length,
    close: () => listening.close(),
  };
  const listening = use(await listen(server));
  ses.endpoint = listening.url;
  return ses;
}

/** Environment variables of an API or worker that sends through this server. */
export const sesSettings = ({ endpoint }: FakeSes) => ({
  AWS_SES_REGION: 'eu-west-1',
  AWS_SES_ACCESS_KEY_ID: 'id',
  AWS_SES_SECRET_ACCESS_KEY: 'secret',
  AWS_SES_ENDPOINT: endpoint,
});

interface Answer {
  status: number;
  body: object;
  headers?: Record<string, string>;
}

async function serve(ses: FakeSes, request: IncomingMessage, response: ServerResponse) {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  ses.lastKeyId = /Credential=([^/]+)/.exec(request.headers.authorization ?? '')?.[1] ?? null;
  ses.requests += 1;
  if (ses.delayMs > 0) await new Promise((resolve) => setTimeout(resolve, ses.delayMs));

  const fault = ses.next.shift() ?? ses.always;
  if (fault === 'drop') return request.socket.destroy();
  if (fault !== null && typeof fault === 'object') {
    const { status, type, message, headers, page } = fault;
    if (page !== undefined) return response.writeHead(status, headers).end(page);
    return write(response, refusal(status, type, message), headers);
  }
  const body = chunks.length > 0 ? JSON.parse(Buffer.concat(chunks).toString()) : {};
  const answer = operation(ses, `${request.method} ${request.url}`, body);
  if (fault === 'silence') return undefined;
  if (fault === 'accept-then-drop') return request.socket.destroy();
  if (fault === 'accept-then-cut') {
    response.writeHead(200, { 'content-type': 'application/json', 'content-length': '1000' });
    return response.write('{"MessageId":', () => request.socket.destroy());
  }
  return write(response, answer);
}

function write(response: ServerResponse, answer: Answer, headers: Record<string, string> = {}) {
  const type = { 'content-type': 'application/json' };
  response.writeHead(answer.status, { ...type, ...answer.headers, ...headers });
  response.end(JSON.stringify(answer.body));
}

function refusal(status: number, type = 'InternalFailure', message = type): Answer {
  return { status, body: { message }, headers: { 'x-amzn-errortype': type } };
}

function operation(ses: FakeSes, call: string, body: Record<string, unknown>): Answer {
  if (call === 'POST /v2/email/outbound-emails') return sendEmail(ses, body as unknown as SendBody);
  if (call === 'GET /v2/email/account') {
    return ok({ SendQuota: { MaxSendRate: ses.maxSendRate, Max24HourSend: 50_000 } });
  }
  if (call === 'POST /v2/email/identities')
    return createIdentity(ses, String(body['EmailIdentity']));

  const [, method, name = '', part = ''] =
    /^(\w+) \/v2\/email\/identities\/([^/]+)(\/mail-from)?$/.exec(call) ?? [];
  const domain = decodeURIComponent(name);
  const identity = ses.identities.get(domain);
  if (!identity) return refusal(404, 'NotFoundException', `${call} does not exist.`);
  if (method === 'PUT' && part) {
    identity.mailFrom = String(body['MailFromDomain']);
    return ok({});
  }
  if (method === 'DELETE') {
    ses.identities.delete(domain);
    return ok({});
  }
  return ok({
    IdentityType: 'DOMAIN',
    VerifiedForSendingStatus: identity.dkimStatus === 'SUCCESS',
    DkimAttributes: dkimOf(identity),
  });
}

interface SendBody {
  Content: { Raw: { Data: string } };
  Destination: { ToAddresses: string[] };
  EmailTags?: { Name: string; Value: string }[];
  ConfigurationSetName?: string;
}

function sendEmail(ses: FakeSes, body: SendBody): Answer {
  const messageId = `0102-${String(ses.emails.length + 1).padStart(6, '0')}`;
  ses.emails.push({
    messageId,
    to: body.Destination.ToAddresses,
    tags: Object.fromEntries((body.EmailTags ?? []).map(({ Name, Value }) => [Name, Value])),
    configurationSet: body.ConfigurationSetName ?? null,
    raw: Buffer.from(body.Content.Raw.Data, 'base64'),
  });
  return ok({ MessageId: messageId });
}

function createIdentity(ses: FakeSes, domain: string): Answer {
  if (ses.identities.has(domain)) {
    return refusal(400, 'AlreadyExistsException', `Email identity ${domain} already exists.`);
  }
  const tokens = ['a', 'b', 'c'].map((letter) => letter.repeat(31) + ses.identities.size);
  const identity: FakeSesIdentity = { tokens, mailFrom: null, dkimStatus: 'PENDING' };
  ses.identities.set(domain, identity);
  return ok({ IdentityType: 'DOMAIN', DkimAttributes: dkimOf(identity) });
}

function dkimOf({ tokens, dkimStatus, dkimOrigin = 'AWS_SES' }: FakeSesIdentity) {
  return { Tokens: tokens, Status: dkimStatus, SigningAttributesOrigin: dkimOrigin };
}

function ok(body: object): Answer {
  return { status: 200, body };
}
