import type { TestAnswer, TestApi } from './api.ts';

export interface ShownPage {
  status: number;
  headers: Headers;
  /** The HTML of the page in one line. */
  html: string;
  /** The target of a redirection; null: the response is none. */
  location: string | null;
}

/** A browser without JavaScript: it keeps cookies, and sends forms with the token of their page. */
export interface Visitor {
  open(path: string): Promise<ShownPage>;
  /** Sends a form of the page that was opened last. */
  submit(path: string, fields?: Record<string, string>): Promise<ShownPage>;
  /** The `Cookie` header. */
  cookie(): string;
}

export function newVisitor(api: TestApi, cookie = ''): Visitor {
  const jar = new Map(cookie === '' ? [] : [pairOf(cookie)]);
  let token = '';
  let page = '';
  const header = () => [...jar].map((pair) => pair.join('=')).join('; ');
  const read = ({ status, headers, body }: TestAnswer): ShownPage => {
    for (const set of headers.getSetCookie()) {
      const [name, value] = pairOf(set.split(';')[0] ?? '');
      if (set.includes('Max-Age=0')) jar.delete(name);
      else jar.set(name, value);
    }
    const html = String(body).replaceAll(/\s+/g, ' ');
    token = /name="token" value="([\w-]+)"/.exec(html)?.[1] ?? token;
    return { status, headers, html, location: headers.get('location') };
  };
  return {
    async open(path) {
      page = path;
      return read(await api.request('GET', path, { cookie: header() }));
    },
    async submit(path, fields = {}) {
      return read(
        await api.request('POST', path, {
          cookie: header(),
          headers: {
            'content-type': 'application/x-www-form-urlencoded',
            referer: `${api.url}${page}`,
          },
          body: new URLSearchParams({ ...fields, token }).toString(),
        }),
      );
    },
    cookie: header,
  };
}

function pairOf(cookie: string): [string, string] {
  const at = cookie.indexOf('=');
  return [cookie.slice(0, at), cookie.slice(at + 1)];
}
