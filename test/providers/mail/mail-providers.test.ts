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
    expect(mailer.reportsDelivery).toBe(keepsDomains);
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
