import { createHash, randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { type CryptoKey, exportJWK, generateKeyPair, type JWTPayload, SignJWT } from 'jose';
import { listen, use } from '../use.ts';

/** Creates the ID token that the token endpoint returns. */
type SignIdToken = (claims: JWTPayload, issuer: OidcIssuer) => Promise<string>;

export interface OidcIssuer {
  url: string;
  client: { id: string; secret: string };
  /** Claims of the user who signs in, in addition to those of the protocol. */
  user: JWTPayload & { sub: string };
  /** Replaces claims in the next ID tokens; undefined removes a claim. */
  claims: JWTPayload;
  /** Claims that only the userinfo endpoint returns. */
  userinfo: Record<string, unknown>;
  /** Additions to the discovery document. */
  metadata: Record<string, unknown>;
  sign: SignIdToken;
  key: CryptoKey;
  kid: string;
  publicJwk: Record<string, unknown>;
  /** Number of requests to the issuer, by path. */
  requests: Map<string, number>;
  /** Replaces the keys, like an issuer that rotates its keys. */
  rotate(): Promise<void>;
  /** Returns the address to which the issuer redirects a browser that has opened `location`. */
  authorize(location: string): URL;
  stop(): Promise<void>;
  close(): Promise<void>;
}

interface Grant {
  nonce: string;
  challenge: string;
  redirectUri: string;
}

/** Signs an ID token with the key of the issuer, as a correct issuer does. */
export const signRightly: SignIdToken = (claims, { key, kid }) =>
  new SignJWT(claims).setProtectedHeader({ alg: 'RS256', kid }).sign(key);

/** Starts an OpenID provider with the faults that a test sets. */
export async function useOidcIssuer(): Promise<OidcIssuer> {
  const grants = new Map<string, Grant>();
  const server = createServer((request, response) => void answer(request, response));
  const { url, close } = await listen(server);
  const issuer: OidcIssuer = {
    url,
    client: { id: 'everpost', secret: 'a secret of the client' },
    user: { sub: randomUUID() },
    claims: {},
    userinfo: {},
    metadata: {},
    sign: signRightly,
    ...(await newKey()),
    requests: new Map(),
    async rotate() {
      Object.assign(issuer, await newKey());
    },
    authorize(location) {
      const { searchParams } = new URL(location);
      const code = randomUUID();
      const redirectUri = searchParams.get('redirect_uri') ?? '';
      grants.set(code, {
        nonce: searchParams.get('nonce') ?? '',
        challenge: searchParams.get('code_challenge') ?? '',
        redirectUri,
      });
      const back = new URL(redirectUri);
      back.searchParams.set('code', code);
      back.searchParams.set('state', searchParams.get('state') ?? '');
      back.searchParams.set('iss', url);
      return back;
    },
    stop: close,
    close,
  };
  return use(issuer);

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { pathname } = new URL(request.url ?? '/', url);
    issuer.requests.set(pathname, (issuer.requests.get(pathname) ?? 0) + 1);
    const json = (status: number, body: unknown) =>
      response.writeHead(status, { 'Content-Type': 'application/json' }).end(JSON.stringify(body));
    if (pathname === '/.well-known/openid-configuration') return void json(200, discovery());
    if (pathname === '/jwks') return void json(200, { keys: [issuer.publicJwk] });
    if (pathname === '/userinfo') {
      return void json(200, { sub: issuer.user.sub, ...issuer.userinfo });
    }
    if (pathname !== '/token') return void json(404, {});
    const form = await formOf(request);
    const grant = grants.get(form.get('code') ?? '');
    grants.delete(form.get('code') ?? '');
    if (!grant || !isRight(request, form, grant)) return void json(400, { error: 'invalid_grant' });
    json(200, {
      access_token: randomUUID(),
      token_type: 'Bearer',
      id_token: await issuer.sign(claimsFor(grant), issuer),
    });
  }

  function discovery() {
    return {
      issuer: url,
      authorization_endpoint: `${url}/authorize`,
      token_endpoint: `${url}/token`,
      userinfo_endpoint: `${url}/userinfo`,
      jwks_uri: `${url}/jwks`,
      response_types_supported: ['code'],
      subject_types_supported: ['public'],
      id_token_signing_alg_values_supported: ['RS256', 'HS256', 'none'],
      authorization_response_iss_parameter_supported: true,
      ...issuer.metadata,
    };
  }

  function isRight({ headers }: IncomingMessage, form: URLSearchParams, grant: Grant): boolean {
    const { id, secret } = issuer.client;
    const basic = Buffer.from(`${id}:${secret.replaceAll(' ', '+')}`).toString('base64');
    const verifier = form.get('code_verifier') ?? '';
    return (
      headers.authorization === `Basic ${basic}` &&
      form.get('redirect_uri') === grant.redirectUri &&
      createHash('sha256').update(verifier).digest('base64url') === grant.challenge
    );
  }

  function claimsFor({ nonce }: Grant): JWTPayload {
    const now = Math.floor(Date.now() / 1000);
    return {
      iss: url,
      aud: issuer.client.id,
      iat: now,
      exp: now + 300,
      nonce,
      ...issuer.user,
      ...issuer.claims,
    };
  }
}

async function newKey(): Promise<Pick<OidcIssuer, 'key' | 'kid' | 'publicJwk'>> {
  const { privateKey, publicKey } = await generateKeyPair('RS256');
  const kid = randomUUID();
  return {
    key: privateKey,
    kid,
    publicJwk: { ...(await exportJWK(publicKey)), kid, alg: 'RS256' },
  };
}

async function formOf(request: IncomingMessage): Promise<URLSearchParams> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return new URLSearchParams(Buffer.concat(chunks).toString('utf8'));
}
