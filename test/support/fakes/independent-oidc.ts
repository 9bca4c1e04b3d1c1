import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { Provider } from 'oidc-provider';
import { listen, use } from '../use.ts';

/** An OpenID provider from outside this project (https://github.com/panva/node-oidc-provider). */
export interface IndependentProvider {
  url: string;
  client: { id: string; secret: string };
  /** Starts the provider for the API at this address, which is the only client. */
  serve(apiUrl: string): void;
  close(): Promise<void>;
}

type Handle = (request: IncomingMessage, response: ServerResponse) => unknown;

/**
 * Creates a provider whose users have the address `<sub>@corp.example` and are in the group
 * `admins`.
 */
export async function useIndependentProvider(): Promise<IndependentProvider> {
  let handle: Handle = (_, response) => response.writeHead(503).end();
  const server = createServer((request, response) => void handle(request, response));
  const { url, close } = await listen(server);
  const client = { id: 'everpost', secret: 'a secret of thirty-two characters or more' };
  const serve = (apiUrl: string) => {
    const address = `${apiUrl}/oauth/oidc/corp`;
    const provider = new Provider(url, {
      clients: [
        {
          client_id: client.id,
          client_secret: client.secret,
          redirect_uris: [`${address}/callback`],
          backchannel_logout_uri: `${address}/backchannel-logout`,
          backchannel_logout_session_required: true,
        },
      ],
      features: { backchannelLogout: { enabled: true }, devInteractions: { enabled: true } },
      // By default the provider makes no requests to loopback addresses.
      fetch: (address, options) => fetch(address, plainOptions(options)),
      pkce: { required: () => true },
      claims: { openid: ['sub'], email: ['email', 'email_verified'], groups: ['groups'] },
      findAccount: (_, sub) => ({
        accountId: sub,
        claims: async () => ({
          sub,
          email: `${sub}@corp.example`,
          email_verified: true,
          groups: ['admins'],
        }),
      }),
    });
    handle = provider.callback();
  };
  return use({ url, client, serve, close });
}

const plainOptions = ({ method = 'GET', headers = {}, body = null }: RequestInit = {}) => ({
  method,
  headers,
  body,
});

/** A browser that fills in the forms of the provider. */
export class Browser {
  readonly #cookies = new Map<string, string>();
  readonly #site: string;
  readonly #user: string;

  constructor(site: string, user: string) {
    this.#site = site;
    this.#user = user;
  }

  /**
   * Opens an address and follows redirects and forms, until the provider redirects elsewhere or
   * shows a last page.
   */
  async open(address: string): Promise<URL> {
    let url = new URL(address);
    let form: URLSearchParams | undefined;
    for (let steps = 0; steps < 20; steps++) {
      const answer = await this.#fetch(url, form);
      const location = answer.headers.get('location');
      form = undefined;
      if (location !== null) {
        url = new URL(location, url);
        if (url.origin !== this.#site) return url;
        continue;
      }
      const page = await answer.text();
      const action = /<form[^>]* action="([^"]+)"/.exec(page)?.[1];
      if (action === undefined) return url;
      url = new URL(action, url);
      form = this.#fill(page);
    }
    throw new Error(`The provider leads nowhere: ${url.href}`);
  }

  #fill(page: string): URLSearchParams {
    const hidden = page.matchAll(/type="hidden" name="([^"]+)" value="([^"]*)"/g);
    return new URLSearchParams({
      ...Object.fromEntries([...hidden].map(([, name = '', value = '']) => [name, value])),
      login: this.#user,
      password: 'a password',
      logout: 'yes',
    });
  }

  async #fetch(url: URL, form: URLSearchParams | undefined): Promise<Response> {
    const cookie = [...this.#cookies].map(([name, value]) => `${name}=${value}`).join('; ');
    const answer = await fetch(url, {
      method: form ? 'POST' : 'GET',
      body: form ?? null,
      headers: { Cookie: cookie },
      redirect: 'manual',
    });
    for (const set of answer.headers.getSetCookie()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(set) ?? [];
      this.#cookies.set(name, value);
    }
    return answer;
  }
}
