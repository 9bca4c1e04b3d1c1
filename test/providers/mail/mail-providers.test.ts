import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { endpoints } from '../../../api/endpoints.ts';
import { readConfig } from '../../../config.ts';
import { createFeedbackReaders, mailProviders } from '../../../providers/mail-providers.ts';
import { importsOf } from '../../support/imports.ts';
import { use } from '../../support/use.ts';

const needed = { DATABASE_URL: 'postgres://localhost/everpost', JWT_SECRET: 'x'.repeat(32) };
const mailOf = (more: Record<string, string>) => readConfig({ ...needed, ...more }).mail;
const smtp = { SMTP_HOST: 'smtp.shop.test' };
const ses = {
  AWS_SES_REGION: 'eu-west-1',
  AWS_SES_ACCESS_KEY_ID: 'id',
  AWS_SES_SECRET_ACCESS_KEY: 'secret',
};

describe('the settings', () => {
  it.each([
    ['ses', { ...ses, ...smtp }, 'ses eu-west-1'],
    ['smtp', smtp, 'smtp smtp.shop.test:1025'],
    ['mailbox', {}, 'mailbox'],
  ])('choose %s with %j', (_, variables, name) => {
    const { sender, ...mail } = mailOf(variables);
    const mailer = use(sender.createMailer({ storeMessage: async () => {} }));
    expect(mailer.provider).toBe(name);
    const keepsDomains = name.startsWith('ses');
    expect(sender.createIdentities(mail)).toMatchObject({ keepsDomains });
    expect(mailer.hasSimulator).toBe(!keepsDomains);
  });

  it('treat SMTP in production like a provider of real mail', () => {
    const settings = {
      ...needed,
      ...smtp,
      JWT_SECRET: 'Zm9yIHRoaXMgdGVzdCBvbmx5LCA0OCBieXRlcyBsb25n',
      NODE_ENV: 'production',
      DASHBOARD_URL: 'https://app.shop.test',
      API_URL: 'https://api.shop.test',
    };
    const { sender, ...mail } = readConfig(settings).mail;
    const mailer = use(sender.createMailer({ storeMessage: async () => {} }));
    expect(sender.testsToMembersOnly).toBe(true);
    expect(mailer.hasSimulator).toBe(false);
    expect(sender.createIdentities(mail).verifiesReservedNames).toBe(false);
    const local = mailOf(smtp).sender;
    expect(local.testsToMembersOnly).toBe(false);
    expect(local.createIdentities(mail).verifiesReservedNames).toBe(true);
  });

  it.each([
    [{}, 'none', ['RETURN_PATH_DOMAIN and RETURN_PATH_HOST are missing']],
    [{ RETURN_PATH_DOMAIN: 'b.shop.test' }, 'none', ['INBOUND_SMTP_PORT, INBOUND_MIME_SECRET']],
    [{ RETURN_PATH_HOST: 'mx.shop.test' }, 'none', ['INBOUND_SMTP_PORT, INBOUND_MIME_SECRET']],
    [{ INBOUND_SMTP_PORT: '2525' }, 'none', ['RETURN_PATH_DOMAIN and RETURN_PATH_HOST']],
    [{ RETURN_PATH_HOST: 'mx.shop.test', INBOUND_SMTP_PORT: '2525' }, 'dsn', []],
    [{ RETURN_PATH_DOMAIN: 'b.shop.test', INBOUND_SMTP_PORT: '2525' }, 'dsn', []],
    [{ RETURN_PATH_DOMAIN: 'b.shop.test', INBOUND_MIME_SECRET: 'x'.repeat(16) }, 'dsn', []],
  ])('warn of what is missing to read reports with %j', (more, feedback, warnings) => {
    const config = readConfig({ ...needed, ...smtp, ...more });
    expect(config.mail.sender.reports).toBe(feedback);
    expect(config.warnings).toEqual(
      warnings.map((beginning) => expect.stringContaining(beginning)),
    );
  });

  it('leave the SDK of a provider unloaded', () => {
    const loaded = new Set<string>();
    const open = (file: string) => {
      if (loaded.has(file) || !existsSync(file)) return;
      loaded.add(file);
      for (const { target, isPackage, isType, isLazy } of importsOf(
        file,
        readFileSync(file, 'utf8'),
      )) {
        if (isType || isLazy) continue;
        if (isPackage) loaded.add(target);
        else open(target);
      }
    };
    open('config.ts');
    expect([...loaded]).toContain('providers/mail/ses/mailer.ts');
    expect([...loaded].filter((name) => name.startsWith('@aws-sdk/'))).toEqual([]);
  });
});

describe('each provider', () => {
  it.each(mailProviders)('$kind has a folder of its name', ({ kind }) => {
    const file = path.join('providers/mail', kind, 'provider.ts');
    expect(existsSync(file)).toBe(true);
  });

  it.each(mailProviders.filter(({ feedback }) => feedback))(
    '$kind reports to endpoints of the API',
    ({ kind, feedback }) => {
      const paths = endpoints.map(({ path }) => path);
      expect(paths).toEqual(expect.arrayContaining(feedback!.endpoints.map(({ path }) => path)));
      expect(createFeedbackReaders()).toHaveProperty(kind);
    },
  );
});
