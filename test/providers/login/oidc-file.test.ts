import { describe, expect, it } from 'vitest';
import { ConfigError, readConfig } from '../../../config.ts';
import { useOidcFile } from '../../support/fakes/oidc.ts';

const required = {
  DATABASE_URL: 'postgres://localhost/everpost',
  JWT_SECRET: 'a secret of thirty-two characters or more',
};
const corp = { id: 'corp', name: 'Corp', issuer: 'https://login.corp.example', clientId: 'us' };

async function read(content: unknown, environment: Record<string, string> = {}) {
  const OIDC_PROVIDERS_FILE = await useOidcFile(content);
  return readConfig({ ...required, OIDC_PROVIDERS_FILE, ...environment }).oidc;
}

async function problemsOf(content: unknown) {
  const error: unknown = await read(content).catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(ConfigError);
  return (error as ConfigError).problems;
}

describe('OIDC_PROVIDERS_FILE', () => {
  it('has defaults, and secrets from the environment', async () => {
    const clientSecret = { env: 'CORP_SECRET' };
    const file = { providers: [{ ...corp, clientSecret, scopes: ['email'] }] };
    expect(await read(file, { CORP_SECRET: 'secret' })).toEqual([
      {
        ...corp,
        clientSecret: 'secret',
        scopes: ['openid', 'email'],
        domains: [],
        required: false,
        accounts: 'auto',
        adopt: false,
        trustEmail: false,
        projects: [],
        acrValues: [],
        sessionHours: 168,
      },
    ]);
  });

  it('refuses faults by their path', async () => {
    const wrong = { ...corp, id: 'Corp', issuer: 'http://login.corp.example', sessionHours: 0 };
    const faults = await problemsOf({ providers: [{ ...wrong, other: 1 }] });
    expect(faults).toEqual([
      expect.stringMatching(/^OIDC_PROVIDERS_FILE providers\.0\.id must have 1 to 40/),
      expect.stringMatching(/^OIDC_PROVIDERS_FILE providers\.0\.issuer must be a URL with https/),
      expect.stringMatching(/^OIDC_PROVIDERS_FILE providers\.0\.sessionHours /),
      expect.stringMatching(/^OIDC_PROVIDERS_FILE providers\.0 .*other/),
    ]);
    expect(await problemsOf('{')).toEqual([expect.stringContaining('is not valid JSON')]);
    expect(await problemsOf({ providers: [{ ...corp, clientSecret: { env: 'NONE' } }] })).toEqual([
      'OIDC_PROVIDERS_FILE providers.0.clientSecret needs the environment variable NONE, which is not set',
    ]);
  });

  it('refuses two providers of one issuer, and trust without domains', async () => {
    const trusting = { required: true, adopt: true, trustEmail: true };
    const providers = [corp, { ...corp, ...trusting, id: 'second' }];
    expect(await problemsOf({ providers })).toEqual([
      'OIDC_PROVIDERS_FILE providers.1.issuer is used twice: https://login.corp.example',
      'OIDC_PROVIDERS_FILE providers.1.required needs at least one domain in domains',
      'OIDC_PROVIDERS_FILE providers.1.adopt needs at least one domain in domains',
      'OIDC_PROVIDERS_FILE providers.1.trustEmail needs at least one domain in domains',
    ]);
  });

  it('takes http on loopback only', async () => {
    const [provider] = await read({ providers: [{ ...corp, issuer: 'http://127.0.0.1:9000' }] });
    expect(provider?.issuer).toBe('http://127.0.0.1:9000');
  });
});
