import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { useApi } from '../../support/api.ts';
import { useDnsServer } from '../../support/fakes/dns-server.ts';
import { useFolder } from '../../support/use.ts';

const dns = await useDnsServer();
const folder = await useFolder();
const list = join(folder, 'alias.txt');
await writeFile(list, '# ours\nRelay.Dev\n\n');
const api = await useApi({ DNS_SERVERS: dns.address, ALIAS_DOMAINS_FILE: list });
const project = await api.createProject((await api.signUp()).cookie);
const key = project.secretKey;
const publicKey = project.publicKey;
for (const name of ['gmail.com', 'gmial.com', 'shop.dev', 'mailinator.com', 'relay.dev']) {
  dns.publish(name, 'A', '192.0.2.1');
  dns.publish(name, 'MX', { exchange: `mx.${name}`, preference: 10 });
}

const verify = (email: unknown) => api.request('POST', '/v1/verify', { key, body: { email } });

describe('POST /v1/verify', () => {
  it('answers every finding, in the wrapped form', async () => {
    const { status, body } = await verify(' Ada@Gmial.com ');
    expect(status).toBe(200);
    expect(body).toEqual({
      success: true,
      data: {
        email: 'ada@gmial.com',
        valid: true,
        isDisposable: false,
        isAlias: false,
        isTypo: true,
        isPlusAddressed: false,
        isPersonalEmail: false,
        domainExists: true,
        hasWebsite: true,
        hasMxRecords: true,
        suggestedEmail: 'ada@gmail.com',
        reasons: ['The domain looks misspelled.'],
      },
    });
  });

  it('refuses bad syntax with 422 and a public key with 401', async () => {
    const refused = await verify('x@');
    expect(refused.status).toBe(422);
    expect(refused.body.error.errors[0]).toMatchObject({ field: 'email', code: 'invalid_string' });
    expect((await verify(undefined)).status).toBe(422);
    const withPublic = { key: publicKey, body: { email: 'a@shop.dev' } };
    const answer = await api.request('POST', '/v1/verify', withPublic);
    expect(answer.body.error.code).toBe('INVALID_API_KEY');
  });

  it('calls a domain with a null MX existing and the address not valid', async () => {
    dns.publish('null.dev', 'MX', { exchange: '.', preference: 0 });
    expect((await verify('a@null.dev')).body.data).toMatchObject({
      valid: false,
      domainExists: true,
      hasMxRecords: false,
    });
  });

  it('recognises plus addresses and personal mailboxes', async () => {
    expect((await verify('a+b@gmail.com')).body.data).toMatchObject({
      isPlusAddressed: true,
      isPersonalEmail: true,
      valid: true,
    });
  });

  it('knows disposable domains, with what is below them', async () => {
    dns.publish('x.mailinator.com', 'MX', { exchange: 'mx.dev', preference: 1 });
    expect((await verify('a@mailinator.com')).body.data).toMatchObject({
      isDisposable: true,
      valid: true,
    });
    expect((await verify('a@x.mailinator.com')).body.data.isDisposable).toBe(true);
  });

  it('takes the list of a file in place of the built-in one', async () => {
    expect((await verify('a@relay.dev')).body.data.isAlias).toBe(true);
    expect((await verify('a@duck.com')).body.data).toMatchObject({
      isAlias: false,
      domainExists: false,
      hasWebsite: false,
      hasMxRecords: false,
      valid: false,
    });
  });

  it('returns 503 SERVICE_UNAVAILABLE when the resolver does not answer', async () => {
    dns.faults.set('broken.dev', 'SERVFAIL');
    const { status, body } = await verify('a@broken.dev');
    expect(status).toBe(503);
    expect(body.error.code).toBe('SERVICE_UNAVAILABLE');
  });

  it('stores nothing', async () => {
    await verify('a@shop.dev');
    expect(await api.db.selectFrom('contact').selectAll().execute()).toEqual([]);
    expect(await api.db.selectFrom('event').selectAll().execute()).toEqual([]);
  });
});
