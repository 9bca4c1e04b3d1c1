import { createHash, randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { OAuthClient, OAuthEndpoints } from '../../../providers/login/oauth.ts';
import { listen, use } from '../use.ts';

/** The user at the fake provider, with the fields of both GitHub and Google. */
export interface FakeUser {
  id: string;
  email: string;
  verified: boolean;
}

/**
 * A login provider on this machine: OAuth 2.0 with PKCE, with responses shaped like GitHub's and
 * Google's.
 */
export interface FakeOAuth {
  client: OAuthClient;
  github: OAuthEndpoints;
  google: OAuthEndpoints;
  /** The user who logs in next. */
  user: FakeUser;
  /** Authorization codes that the token endpoint refused, oldest first. */
  refusals: string[];
}

interface Grant {
  user: FakeUser;
  redirectUri: string;
  challenge: string;
}

export async function useFakeOAuth(): Promise<FakeOAuth> {
  const grants = new Map<string, Grant>();
  const tokens = new Map<string, FakeUser>();
  const client = { id: 'client-of-everpost', secret: `secret-${randomUUID()}` };
  const server = createServer((request, response) => {
    // Some servers send `100 Continue` unasked, which the browser of the tests cannot read.
    if (!request.url?.startsWith('/authorize')) response.writeContinue();
    void answer(request, response).catch(() => response.writeHead(500).end());
  });
  const { url: base } = use(await listen(server));
  const fake: FakeOAuth = {
    client,
    github: {
      authorize: `${base}/authorize`,
      token: `${base}/token`,
      user: `${base}/github/user`,
      emails: `${base}/github/emails`,
    },
    google: { authorize: `${base}/authorize`, token: `${base}/token`, user: `${base}/google/user` },
    user: { id: '1', email: 'ada@users.test', verified: true },
    refusals: [],
  };
  return fake;

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? '/', base);
    const json = (status: number, body: unknown) =>
      response.writeHead(status, { 'Content-Type': 'application/json' }).end(JSON.stringify(body));
    if (url.pathname === '/authorize') return authorize(url, response);
    if (url.pathname === '/token') return void json(200, exchange(await formOf(request)));
    const user = tokens.get((request.headers.authorization ?? '').replace('Bearer ', ''));
    if (!user) return void json(401, { message: 'Bad credentials' });
    const { id, email, verified } = user;
    const bodies: Record<string, unknown> = {
      '/github/user': { id: Number(id), login: 'ada', email: 'public@elsewhere.test' },
      '/github/emails': [
        { email: 'second@users.test', primary: false, verified: true },
        { email, primary: true, verified },
      ],
      '/google/user': { sub: id, email, email_verified: verified },
    };
    return void json(200, bodies[url.pathname]);
  }

  function authorize(url: URL, response: ServerResponse): void {
    const given = Object.fromEntries(url.searchParams);
    const isRight =
      given['response_type'] === 'code' &&
      given['client_id'] === client.id &&
      given['code_challenge_method'] === 'S256' &&
      (given['scope'] ?? '').includes('email');
    const back = new URL(given['redirect_uri'] ?? base);
    back.searchParams.set('state', given['state'] ?? '');
    if (isRight) {
      const code = randomUUID();
      grants.set(code, {
        user: fake.user,
        redirectUri: given['redirect_uri'] ?? '',
        challenge: given['code_challenge'] ?? '',
      });
      back.searchParams.set('code', code);
    } else {
      back.searchParams.set('error', 'invalid_request');
    }
    response.writeHead(302, { Location: back.href }).end();
  }

  /** Exchanges a code for a token. A refusal also has status 200, as at GitHub. */
  function exchange(form: URLSearchParams): object {
    const code = form.get('code') ?? '';
    const grant = grants.get(code);
    grants.delete(code);
    const challenge = createHash('sha256')
      .update(form.get('code_verifier') ?? '')
      .digest('base64url');
    const isRight =
      grant !== undefined &&
      form.get('client_id') === client.id &&
      form.get('client_secret') === client.secret &&
      form.get('redirect_uri') === grant.redirectUri &&
      challenge === grant.challenge;
    if (!isRight) {
      fake.refusals.push(code);
      return { error: 'bad_verification_code' };
    }
    const token = randomUUID();
    tokens.set(token, grant.user);
    return { access_token: token, token_type: 'bearer' };
  }
}

async function formOf(request: IncomingMessage): Promise<URLSearchParams> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return new URLSearchParams(Buffer.concat(chunks).toString('utf8'));
}
