import { randomUUID } from 'node:crypto';
import type { Engine } from '../engine.ts';
import type { SmtpPeer } from '../fakes/smtp-peer.ts';
import { waitFor } from '../wait-for.ts';

// oxlint-disable-next-line typescript/no-explicit-any -- a JSON body, as in TestAnswer
type Json = Record<string, any>;

/** A new project with a sender domain. No process has cached the project's routes yet. */
export interface RoutedShop {
  projectId: string;
  domain: string;
  call: Engine['call'];
  /** Adds a mail server as a provider. Returns its id. */
  add(name: string, server: Pick<SmtpPeer, 'port'>, more?: object): Promise<string>;
  route(providers: (string | { id: string; weight: number })[], more?: object): Json;
  setRoutes(...routes: Json[]): Promise<void>;
  /** Sends a mail. Returns its id. */
  send(more?: object): Promise<string>;
  read(id: string): Promise<Json>;
  /** Returns the mail when it has this status. */
  readIn(id: string, status: string, timeoutMs?: number): Promise<Json>;
}

export async function newRoutedShop({ api }: Pick<Engine, 'api'>): Promise<RoutedShop> {
  const { cookie } = await api.signUp();
  const { id: projectId, secretKey } = await api.createProject(cookie);
  const domain = `${randomUUID()}.test`;
  const call: Engine['call'] = async (method, path, body, headers = {}) => {
    const answer = await api.request(method, path, { key: secretKey, body, headers });
    if (answer.status >= 300) throw new Error(JSON.stringify(answer.body));
    return answer;
  };
  await call('POST', '/domains', { domain });
  const read = async (id: string) => (await call('GET', `/emails/${id}`)).body;
  return {
    projectId,
    domain,
    call,
    async add(name, { port }, more = {}) {
      const server = { kind: 'smtp', host: '127.0.0.1', port, security: 'none', feedback: 'none' };
      return (await call('POST', '/providers', { name, ...server, ...more })).body.id;
    },
    route: (providers, more = {}) => ({
      match: {},
      providers: providers.map((id) => (typeof id === 'string' ? { id } : id)),
      ...more,
    }),
    async setRoutes(...routes) {
      await call('PUT', '/routing', { routes });
    },
    async send(more = {}) {
      const { body } = await call('POST', '/v1/send', {
        to: `${randomUUID()}@people.test`,
        from: `team@${domain}`,
        subject: 'Hi',
        body: '<p>Hi</p>',
        ...more,
      });
      return body.data.emails[0].email;
    },
    read,
    readIn: (id, status, timeoutMs) =>
      waitFor(
        `${id} ${status}`,
        async () => {
          const email = await read(id);
          return email['status'] === status ? email : null;
        },
        timeoutMs,
      ),
  };
}

/** Returns the states in the trace of a mail, with the names of its providers. */
export const routeOf = ({ trace }: Json): string[] =>
  trace.map(({ state, detail }: Json) =>
    state === 'routed' ? `routed ${detail['name']} ${detail['why']}` : state,
  );
