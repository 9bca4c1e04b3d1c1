import { randomUUID } from 'node:crypto';
import { rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { ConfigError, readConfig } from '../../../../config.ts';
import { atEnd } from '../../../support/use.ts';

/** Writes a file of mail providers. Returns its path. */
async function useFile(content: unknown): Promise<string> {
  const file = path.join(tmpdir(), `providers-${randomUUID()}.json`);
  await writeFile(file, typeof content === 'string' ? content : JSON.stringify(content));
  atEnd(() => rm(file));
  return file;
}

const required = {
  DATABASE_URL: 'postgres://localhost/everpost',
  JWT_SECRET: 'a secret of thirty-two characters or more',
};

async function read(content: unknown, environment: Record<string, string> = {}) {
  const MAIL_PROVIDERS_FILE = await useFile(content);
  return readConfig({ ...required, MAIL_PROVIDERS_FILE, ...environment }).mail;
}

async function problemsOf(content: unknown, environment?: Record<string, string>) {
  const error: unknown = await read(content, environment).catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(ConfigError);
  return (error as ConfigError).problems;
}

const backup = { id: 'backup', name: 'Backup', kind: 'smtp', host: 'mail.example.com' };
const token = 'a-token-of-more-than-32-characters';

describe('MAIL_PROVIDERS_FILE', () => {
  it('has the mail providers and routes of the installation, with values of the environment', async () => {
    const routes = [{ match: { domains: ['Shop.example'] }, providers: [{ id: 'backup' }] }];
    const password = { env: 'BACKUP_PASSWORD' };
    const file = { providers: [{ ...backup, user: 'us', password }], routes };
    expect(await read(file, { BACKUP_PASSWORD: 'secret' })).toMatchObject({
      providers: [
        {
          id: 'backup',
          fields: {
            kind: 'smtp',
            host: 'mail.example.com',
            port: 587,
            security: 'starttls',
            user: 'us',
          },
          secret: 'secret',
          feedback: 'dsn',
          feedbackToken: null,
          enabled: true,
          ownSigning: true,
        },
      ],
      routes: [
        {
          match: { domains: ['shop.example'] },
          providers: [{ id: 'backup', weight: 1 }],
          onDown: 'hold',
        },
      ],
    });
  });

  it('is optional', () => {
    expect(readConfig(required).mail).toMatchObject({ providers: [], routes: [] });
  });

  it('names all faults by their place, and shows no password', async () => {
    const file = {
      providers: [
        { ...backup, id: 'default', port: 0, hots: 'x' },
        { ...backup, id: 'A', kind: 'mailgun', password: 'hidden' },
      ],
      routes: [{ match: {}, providers: [] }],
    };
    const problems = await problemsOf(file);
    expect(problems.map((line) => line.split(' ').slice(0, 2).join(' ')).toSorted()).toEqual([
      'MAIL_PROVIDERS_FILE providers.0',
      'MAIL_PROVIDERS_FILE providers.0.id',
      'MAIL_PROVIDERS_FILE providers.0.port',
      'MAIL_PROVIDERS_FILE providers.1.id',
      'MAIL_PROVIDERS_FILE providers.1.kind',
      'MAIL_PROVIDERS_FILE routes.0.providers',
    ]);
    expect(problems.join()).not.toContain('hidden');
  });

  it('refuses fields that do not fit each other', async () => {
    const postmark = { ...backup, id: 'postmark', name: 'BACKUP', feedback: 'postmark' };
    const file = {
      providers: [
        { ...backup, password: 'x', security: 'none' },
        { ...postmark, host: undefined },
        { ...backup, name: 'C', feedback: 'resend', feedbackToken: token },
      ],
      routes: [{ match: {}, providers: [{ id: 'default' }, { id: 'lost' }] }],
    };
    expect(await problemsOf(file)).toEqual([
      'MAIL_PROVIDERS_FILE providers.0.user is required because the provider has a password. Send a `user`, or set `password` to null.',
      expect.stringMatching(/^MAIL_PROVIDERS_FILE providers.0.security must be tls or starttls/),
      'MAIL_PROVIDERS_FILE providers.1.host is required.',
      'MAIL_PROVIDERS_FILE providers.1.name is used twice: BACKUP',
      'MAIL_PROVIDERS_FILE providers.1.feedbackToken is required when feedback is postmark',
      expect.stringMatching(
        /^MAIL_PROVIDERS_FILE providers.2.feedbackSecret is required when `feedback` is resend/,
      ),
      'MAIL_PROVIDERS_FILE providers.2.id is used twice: backup',
      'MAIL_PROVIDERS_FILE routes.0.providers.1.id has the provider lost, which this file does not define',
    ]);
  });

  it('names a variable of the environment that is missing', async () => {
    const password = { env: 'BACKUP_PASSWORD' };
    expect(await problemsOf({ providers: [{ ...backup, user: 'us', password }] })).toEqual([
      'MAIL_PROVIDERS_FILE providers.0.password needs the environment variable BACKUP_PASSWORD, which is not set',
    ]);
  });

  it('must be readable, and JSON; the error does not quote it', async () => {
    const [broken = ''] = await problemsOf('{"password": "hidden", }');
    expect(broken).toMatch(/^MAIL_PROVIDERS_FILE names a file that is not valid JSON: /);
    expect(broken).not.toContain('hidden');
    const missing = () => readConfig({ ...required, MAIL_PROVIDERS_FILE: '/no/such/file' });
    expect(missing).toThrow(/MAIL_PROVIDERS_FILE names a file that cannot be read: ENOENT/);
  });
});
