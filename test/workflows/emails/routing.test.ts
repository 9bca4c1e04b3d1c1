import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import { useEngine } from '../../support/engine.ts';
import { type AnswerTo, type SmtpPeer, useSmtpPeer } from '../../support/fakes/smtp-peer.ts';
import { newRoutedShop, routeOf, type RoutedShop } from '../../support/projects/routed-shop.ts';
import { waitFor } from '../../support/wait-for.ts';

/** Mail of projects with routes, and mail servers A and B that refuse mail in different ways. */

const home = await useSmtpPeer();
const settings = {
  SMTP_HOST: '127.0.0.1',
  SMTP_PORT: String(home.port),
  EMAIL_RATE_LIMIT_PER_SECOND: '0',
  EMAIL_RATE_PER_PROJECT_PER_SECOND: '0',
  DELIVERY_SETTLE_MINUTES: '0',
};
const engine = await useEngine(settings);

interface Two {
  shop: RoutedShop;
  a: SmtpPeer;
  b: SmtpPeer;
  ids: [string, string];
}

/** Returns the user of a command `AUTH PLAIN`. */
const userIn = (command: string) =>
  Buffer.from(command.split(' ')[2] ?? '', 'base64')
    .toString()
    .split('\0')[1];

/** A project with the servers A and B. `answer`: the replies of A. */
async function useTwo(answer?: AnswerTo, more: object = {}): Promise<Two> {
  const shop = await newRoutedShop(engine);
  const [a, b] = [await useSmtpPeer(answer), await useSmtpPeer()];
  return { shop, a, b, ids: [await shop.add('A', a, more), await shop.add('B', b)] };
}

const at = (peer: SmtpPeer) => peer.accepted.length;

describe('mail without a route', () => {
  it('leaves by the default provider, and does not mention it', async () => {
    const shop = await newRoutedShop(engine);
    const before = at(home);
    const email = await shop.readIn(await shop.send(), 'SENT');
    expect(at(home)).toBe(before + 1);
    expect(routeOf(email)).toEqual(['queued', 'handed_over', 'accepted']);
    expect(email).not.toHaveProperty('providerId');
  });

  it('does not mention it either when other mail of the project has a route', async () => {
    const { shop, a, ids } = await useTwo();
    await shop.setRoutes(shop.route([ids[0]], { match: { receivers: ['*.edu'] } }));
    const email = await shop.readIn(await shop.send(), 'SENT');
    expect(routeOf(email)).toEqual(['queued', 'handed_over', 'accepted']);
    expect([at(a), email['providerId']]).toEqual([0, undefined]);
  });
});

describe('a route', () => {
  it('gives its mail to its provider, and says so in the record and the trace', async () => {
    const { shop, a, b, ids } = await useTwo();
    await shop.setRoutes(
      shop.route([ids[0]], { match: { receivers: ['*.edu'] } }),
      shop.route([ids[1]], { match: { messageClass: ['TRANSACTIONAL'] } }),
    );
    const first = await shop.readIn(await shop.send({ to: 'ada@cs.mit.edu' }), 'SENT');
    const second = await shop.readIn(await shop.send({ to: 'ada@mit.test' }), 'SENT');
    expect([at(a), at(b)]).toEqual([1, 1]);
    expect([first['providerId'], second['providerId']]).toEqual(ids);
    expect(routeOf(first)).toEqual(['queued', 'routed A chosen', 'handed_over', 'accepted']);
    const { trace } = second;
    expect(trace[1].detail).toEqual({
      providerId: ids[1],
      name: 'B',
      route: 1,
      why: 'chosen',
      skipped: [],
    });
    expect(trace.at(-1).detail).toMatchObject({ providerId: ids[1] });
  });

  it('passes over a provider that is disabled or does not send for the domain', async () => {
    const { shop, a, b, ids } = await useTwo(undefined, { domains: ['other.example'] });
    await shop.setRoutes(shop.route(ids.map((id) => ({ id, weight: 0 }))));
    const email = await shop.readIn(await shop.send(), 'SENT');
    expect([at(a), at(b)]).toEqual([0, 1]);
    expect(email['trace'][1].detail).toMatchObject({
      why: 'next',
      skipped: [{ providerId: ids[0], reason: 'domain_not_allowed' }],
    });
  });

  it('passes over a provider for which the message is too large', async () => {
    const { shop, a, b, ids } = await useTwo(undefined, { maxMessageMb: 1 });
    await shop.setRoutes(shop.route(ids.map((id) => ({ id, weight: 0 }))));
    const file = { filename: 'a.bin', contentType: 'application/octet-stream' };
    const content = Buffer.alloc(1024 * 1024, 7).toString('base64');
    const id = await shop.send({ attachments: [{ ...file, content }] });
    const email = await shop.readIn(id, 'SENT');
    expect([at(a), at(b)]).toEqual([0, 1]);
    expect(routeOf(email)).toEqual(['queued', 'routed B next', 'handed_over', 'accepted']);
    expect(email['trace'][1].detail.skipped).toEqual([{ providerId: ids[0], reason: 'too_large' }]);
  });

  it('fails mail that none of its providers can take', async () => {
    const { shop, ids } = await useTwo();
    await shop.setRoutes(shop.route(ids));
    for (const id of ids) await shop.call('PATCH', `/providers/${id}`, { enabled: false });
    const email = await shop.readIn(await shop.send(), 'FAILED');
    expect(email['error']).toBe('no_provider');
    expect(email['trace'].at(-1)).toMatchObject({
      state: 'withheld',
      detail: { reason: 'no_provider' },
    });
  });

  it('splits mail by weight', async () => {
    const { shop, a, b, ids } = await useTwo();
    const [first, second] = ids;
    await shop.setRoutes(
      shop.route([
        { id: first, weight: 9 },
        { id: second, weight: 1 },
      ]),
    );
    const to = Array.from({ length: 400 }, (_, index) => `${index}@people.test`);
    await shop.send({ to });
    await waitFor('all mail', () => at(a) + at(b) === 400, 60_000);
    expect(at(a)).toBeGreaterThanOrEqual(300);
    expect(at(b)).toBeGreaterThan(0);
  });

  it('keeps the rate limit of its provider, and delays no other mail', async () => {
    const { shop, a, b, ids } = await useTwo(undefined, { ratePerSecond: 2 });
    await shop.setRoutes(
      shop.route([ids[0]], { match: { receivers: ['slow.test'] } }),
      shop.route([ids[1]]),
    );
    const startedAt = Date.now();
    await shop.send({ to: Array.from({ length: 10 }, (_, index) => `${index}@slow.test`) });
    await shop.send();
    await waitFor('the other mail', () => at(b) === 1, 4_000);
    await waitFor('all mail', () => at(a) === 10, 30_000);
    expect(Date.now() - startedAt).toBeGreaterThan(3_500);
  });
});

describe('a test of a campaign', () => {
  it('leaves by its route, and by the next provider after a refusal', async () => {
    const { shop, a, b, ids } = await useTwo((command) =>
      command.startsWith('MAIL') ? '550 5.7.1 not allowed' : undefined,
    );
    const providers = ids.map((id) => ({ id, weight: 0 }));
    const match = { messageClass: ['MARKETING'] };
    await shop.setRoutes(shop.route(providers, { onDown: 'next', match }));
    const { body } = await shop.call('POST', '/campaigns', {
      name: 'News',
      subject: 'Hi',
      body: '<p>Hi</p>',
      from: `news@${shop.domain}`,
      audienceType: 'ALL',
    });
    await shop.call('POST', `/campaigns/${body.data.id}/test`, { email: 'me@people.test' });
    await waitFor('the test', () => at(b) === 1);
    expect([at(a), b.accepted]).toEqual([0, ['me@people.test']]);
  });
});

describe('a provider that refuses a message', () => {
  const onDown = (choice: 'next' | 'hold') => ({ onDown: choice });
  const listed = (ids: string[]) => ids.map((id) => ({ id, weight: 0 }));

  it('by its sender: the next one gets it', async () => {
    const { shop, a, b, ids } = await useTwo((command) =>
      command.startsWith('MAIL') ? '550 5.7.1 not allowed' : undefined,
    );
    await shop.setRoutes(shop.route(listed(ids), onDown('next')));
    const email = await shop.readIn(await shop.send(), 'SENT');
    expect([at(a), at(b), email['providerId']]).toEqual([0, 1, ids[1]]);
    expect(routeOf(email)).toEqual([
      'queued',
      'routed A chosen',
      'handed_over',
      'refused',
      'routed B next',
      'handed_over',
      'accepted',
    ]);
    expect(email['trace'][4].detail.skipped).toEqual([{ providerId: ids[0], reason: 'refused' }]);
  });

  it('by its sender: it fails with hold', async () => {
    const { shop, b, ids } = await useTwo((command) =>
      command.startsWith('MAIL') ? '550 5.7.1 not allowed' : undefined,
    );
    await shop.setRoutes(shop.route(listed(ids)));
    const email = await shop.readIn(await shop.send(), 'FAILED');
    expect([at(b), email['providerId']]).toEqual([0, ids[0]]);
  });

  it('by its recipient: no other one gets it', async () => {
    const { shop, b, ids } = await useTwo((command) =>
      command.startsWith('RCPT') ? '550 5.1.1 no such user' : undefined,
    );
    await shop.setRoutes(shop.route(listed(ids), onDown('next')));
    const email = await shop.readIn(await shop.send(), 'FAILED');
    expect([at(b), email['error']]).toEqual([0, expect.stringContaining('5.1.1')]);
  });

  it('temporarily after its data: the next one gets it', async () => {
    const { shop, b, ids } = await useTwo((command) => (command === '.' ? '451 later' : undefined));
    await shop.setRoutes(shop.route(listed(ids), onDown('next')));
    await shop.readIn(await shop.send(), 'SENT');
    expect(at(b)).toBe(1);
  });

  it('temporarily, as all others do: it is retried later', async () => {
    let isAway = true;
    const { shop, a, ids } = await useTwo((command) =>
      command === '.' && isAway ? '451 later' : undefined,
    );
    await shop.call('PATCH', `/providers/${ids[1]}`, { enabled: false });
    await shop.setRoutes(shop.route(listed(ids), onDown('next')));
    const id = await shop.send();
    await waitFor('a refusal', async () =>
      (await shop.read(id))['trace'].some(({ state }: { state: string }) => state === 'refused'),
    );
    isAway = false;
    await shop.readIn(id, 'SENT', 15_000);
    expect(a.accepted).toHaveLength(1);
  });

  it('by refusing connections: the next one gets it at once', async () => {
    const { shop, b, ids } = await useTwo((command) =>
      command === 'greeting' ? '421 away' : undefined,
    );
    await shop.setRoutes(shop.route(listed(ids), onDown('next')));
    const email = await shop.readIn(await shop.send(), 'SENT');
    expect(routeOf(email).filter((state) => state.startsWith('routed'))).toEqual([
      'routed A chosen',
      'routed B next',
    ]);
    expect(at(b)).toBe(1);
  });

  it('takes the data and drops the connection: no other one ever gets it', async () => {
    const { shop, b, ids } = await useTwo((command) => (command === '.' ? 'reset' : undefined));
    await shop.setRoutes(shop.route(listed(ids), onDown('next')));
    const id = await shop.send();
    const isUnknown = async () => (await shop.read(id))['trace'].at(-1).state === 'uncertain';
    await waitFor('the unknown outcome', isUnknown);
    expect(await shop.read(id)).toMatchObject({ status: 'SENDING', providerId: ids[0] });
    expect(at(b)).toBe(0);
  });
});

describe('a provider that takes messages and ends each connection without an answer', () => {
  it('gets a few of them only: the next one gets the others', async () => {
    const { shop, b, ids } = await useTwo((command) => (command === '.' ? 'reset' : undefined));
    await shop.setRoutes(
      shop.route(
        ids.map((id) => ({ id, weight: 0 })),
        { onDown: 'next' },
      ),
    );
    const to = Array.from({ length: 200 }, (_, index) => `${index}@people.test`);
    await shop.send({ to });
    const isOver = async () => {
      const { rows } = await sql<{ unknown: number; waiting: number }>`
        select count(*) filter (where status = 'SENDING')::int as unknown,
            count(*) filter (where status = 'PENDING')::int as waiting
          from email where project_id = ${shop.projectId}`.execute(engine.api.db);
      const { unknown, waiting } = rows[0]!;
      return waiting === 0 && at(b) + unknown === to.length;
    };
    await waitFor('the others', isOver, 60_000);
    expect(at(b)).toBeGreaterThan(150);
  });
});

describe('a provider that is down', () => {
  it('holds its mail, sends it once when it is back, and delays no other mail', async () => {
    let isAway = true;
    const { shop, a, b, ids } = await useTwo((command) =>
      command === 'greeting' && isAway ? '421 away' : undefined,
    );
    const [first, second] = ids;
    await shop.setRoutes(
      shop.route([first, { id: second, weight: 0 }], { match: { receivers: ['down.test'] } }),
      shop.route([second]),
    );
    const held = Array.from({ length: 60 }, (_, index) => `${index}@down.test`);
    await shop.send({ to: held });
    const failures = { provider: `provider ${first}` };
    await waitFor('the open circuit', async () => {
      const row = await engine.api.db
        .selectFrom('provider_circuit')
        .select('opened_at')
        .where('provider', '=', failures.provider)
        .executeTakeFirst();
      return row?.opened_at ?? null;
    });
    const startedAt = Date.now();
    await shop.readIn(await shop.send(), 'SENT');
    expect(Date.now() - startedAt).toBeLessThan(2_500);
    expect([at(a), at(b)]).toEqual([0, 1]);
    const { status } = (await shop.call('GET', `/providers/${first}`)).body;
    expect(status).toBe(undefined);
    const tried = a.connections;
    expect(tried).toBeLessThan(60);
    isAway = false;
    await waitFor('all held mail', () => at(a) === 60, 30_000);
    expect(new Set(a.accepted).size).toBe(60);
    expect(at(b)).toBe(1);
  }, 60_000);

  it('keeps no mail when the routes change: it leaves by the new ones', async () => {
    const { shop, a, b, ids } = await useTwo((command) =>
      command === 'greeting' ? '421 away' : undefined,
    );
    await shop.setRoutes(shop.route([ids[0]]));
    const mails = await Promise.all(Array.from({ length: 5 }, () => shop.send()));
    await waitFor('waiting mail', async () => {
      const { rows } = await sql`select from email_queue where waits_for = ${ids[0]}`.execute(
        engine.api.db,
      );
      return rows.length > 0;
    });
    await sql`update email_queue set due_at = now() + interval '10 minutes'
      where waits_for = ${ids[0]}`.execute(engine.api.db);
    await sql`update email set due_at = now() + interval '10 minutes'
      where waits_for = ${ids[0]}`.execute(engine.api.db);
    await shop.setRoutes(shop.route([ids[1]]));
    for (const id of mails) await shop.readIn(id, 'SENT', 30_000);
    expect([at(a), at(b)]).toEqual([0, 5]);
  }, 60_000);

  it('of one project is down for that project only, also with the same server', async () => {
    // It refuses the log-in of one project, as a service does with an account that it has frozen.
    let frozen = '';
    const server = await useSmtpPeer((command) => {
      if (command.startsWith('EHLO')) return '250-peer\r\n250 AUTH PLAIN';
      if (!command.startsWith('AUTH')) return undefined;
      return userIn(command) === frozen ? '535 5.7.8 account frozen' : '235 2.7.0 ok';
    });
    const shops = [await newRoutedShop(engine), await newRoutedShop(engine)] as const;
    const login = (user: string) => ({ user, password: 'secret' });
    const ids = [
      await shops[0].add('A', server, login('one')),
      await shops[1].add('A', server, login('other')),
    ] as const;
    frozen = 'one';
    await shops[0].setRoutes(shops[0].route([ids[0]]));
    await shops[1].setRoutes(shops[1].route([ids[1]]));
    const stateOf = async (index: 0 | 1) =>
      (await shops[index].call('GET', `/providers/${ids[index]}`)).body.state;
    await shops[0].send({ to: Array.from({ length: 5 }, (_, index) => `${index}@down.test`) });
    await waitFor('the open circuit', async () => (await stateOf(0)) === 'down');
    await shops[1].readIn(await shops[1].send(), 'SENT');
    expect([await stateOf(0), await stateOf(1)]).toEqual(['down', 'up']);
    expect(server.accepted).toHaveLength(1);
  });
});
