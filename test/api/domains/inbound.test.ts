import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { useApi } from '../../support/api.ts';
import { useDnsServer } from '../../support/fakes/dns-server.ts';
import type { AnsweredDomain } from '../../support/fakes/domain-records.ts';

/** Domains whose mail Everpost takes. */

const dns = await useDnsServer();
const smtp = { DNS_SERVERS: dns.address, SMTP_HOST: 'out.everpost.test' };
const [open, closed, mailbox] = await Promise.all([
  useProject({
    ...smtp,
    RETURN_PATH_HOST: 'mx.everpost.test',
    INBOUND_MIME_SECRET: 's'.repeat(16),
  }),
  useProject(smtp),
  useProject({ INBOUND_MIME_SECRET: 's'.repeat(16) }),
]);

type Answered = AnsweredDomain & { inbound?: boolean };

/** Starts an API, and returns a function that makes requests with the key of a project. */
async function useProject(settings: Record<string, string>) {
  const api = await useApi(settings);
  const { secretKey: key } = await api.createProject((await api.signUp()).cookie);
  return (method: string, path: string, body?: unknown) => api.request(method, path, { key, body });
}

async function add(call: typeof open, given: object = {}, name = `${randomUUID()}.dev`) {
  const { status, body } = await call('POST', '/domains', { domain: name, ...given });
  expect(status).toBe(201);
  return body as Answered;
}

const purposes = ({ records }: Answered) => records.map(({ purpose }) => purpose).join(' ');
const inboundOf = ({ records }: Answered) => records.find(({ purpose }) => purpose === 'inbound');

describe('a domain that takes mail', () => {
  it('is asked for when it is made, and lists its MX', async () => {
    const domain = await add(open, { inbound: true });
    expect(domain.inbound).toBe(true);
    expect(purposes(domain)).toBe('dkim return_path spf dmarc inbound');
    expect(inboundOf(domain)).toEqual({
      type: 'MX',
      name: domain.domain,
      value: 'mx.everpost.test',
      priority: 10,
      zoneLine: `${domain.domain}. 3600 IN MX 10 mx.everpost.test.`,
      purpose: 'inbound',
      needed: false,
      status: 'pending',
      found: [],
    });
  });

  it('is asked for later, and no longer', async () => {
    const { id, ...made } = await add(open);
    expect([made.inbound, purposes({ id, ...made })]).toEqual([
      false,
      'dkim return_path spf dmarc',
    ]);
    const change = async (inbound: boolean) =>
      (await open('PATCH', `/domains/${id}`, { inbound })).body as Answered;
    const changed = await change(true);
    expect([changed.inbound, inboundOf(changed)?.status]).toEqual([true, 'pending']);
    expect((await open('GET', `/domains/${id}`)).body).toEqual(changed);
    const back = await change(false);
    expect([back.inbound, inboundOf(back)]).toEqual([false, undefined]);
  });

  it('has its MX checked, which may be one of several', async () => {
    const { id, domain } = await add(open, { inbound: true });
    const check = async () =>
      inboundOf((await open('GET', `/domains/${id}/verify`)).body as Answered);
    dns.publish(domain, 'MX', { exchange: 'mx.other.test', preference: 5 });
    expect(await check()).toMatchObject({ status: 'failed', found: ['5 mx.other.test'] });
    dns.publish(
      domain,
      'MX',
      { exchange: 'mx.other.test', preference: 5 },
      { exchange: 'MX.Everpost.Test', preference: 50 },
    );
    expect(await check()).toMatchObject({ status: 'verified', found: [] });
  });

  it('can have other changes in the same request', async () => {
    const { id } = await add(open);
    const { body } = await open('PATCH', `/domains/${id}`, { inbound: true, ed25519: true });
    expect(body).toMatchObject({ inbound: true, ed25519: true });
    expect(purposes(body)).toBe('dkim dkim_ed25519 return_path spf dmarc inbound');
    const { body: provider } = await open('PATCH', `/domains/${id}`, { signing: 'provider' });
    expect(provider).toMatchObject({ inbound: true, signing: 'provider' });
  });

  it('is refused without a way to receive, together with what else is wrong', async () => {
    const { id } = await add(closed, { inbound: false });
    for (const [method, path, given] of [
      ['PATCH', `/domains/${id}`, {}],
      ['POST', '/domains', { domain: `${randomUUID()}.dev` }],
    ] as const) {
      const body = { ...given, inbound: true, signing: 'provider', ed25519: true };
      const { status, body: refused } = await closed(method, path, body);
      const problems = refused.error.errors.map((one: Record<string, string>) => [
        one['field'],
        one['code'],
      ]);
      expect([status, problems]).toEqual([
        422,
        [
          ['ed25519', 'not_allowed'],
          ['inbound', 'not_allowed'],
        ],
      ]);
    }
  });

  it('has no field for it with the local mailbox until it is asked for', async () => {
    const domain = await add(mailbox, {}, `${randomUUID()}.test`);
    expect(domain).not.toHaveProperty('inbound');
    const { body } = await mailbox('PATCH', `/domains/${domain.id}`, { inbound: true });
    expect(body).toMatchObject({ inbound: true, status: 'verified' });
    expect(body).not.toHaveProperty('signing');
  });
});
