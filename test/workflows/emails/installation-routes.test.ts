import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { useEngine } from '../../support/engine.ts';
import { useSmtpPeer } from '../../support/fakes/smtp-peer.ts';
import { newRoutedShop, routeOf } from '../../support/projects/routed-shop.ts';
import { useFolder } from '../../support/use.ts';

/** Routes and a provider of the installation, for the mail of all projects. */

let isAway = false;
const home = await useSmtpPeer((command) =>
  isAway && /^(?:greeting|MAIL)/.test(command) ? '421 away' : undefined,
);
const backup = await useSmtpPeer();
const file = join(await useFolder(), 'providers.json');
await writeFile(
  file,
  JSON.stringify({
    providers: [
      {
        id: 'backup',
        name: 'Backup',
        kind: 'smtp',
        host: '127.0.0.1',
        port: backup.port,
        security: 'none',
        feedback: 'none',
      },
    ],
    routes: [
      {
        match: {},
        providers: [{ id: 'default' }, { id: 'backup', weight: 0 }],
        onDown: 'next',
      },
    ],
  }),
);
const engine = await useEngine({
  SMTP_HOST: '127.0.0.1',
  SMTP_PORT: String(home.port),
  MAIL_PROVIDERS_FILE: file,
});

it('decide about mail that no route of its project matches', async () => {
  const shop = await newRoutedShop(engine);
  const email = await shop.readIn(await shop.send(), 'SENT');
  expect([home.accepted.length, email['providerId']]).toEqual([1, 'default']);
  expect(routeOf(email)).toEqual(['queued', 'routed default chosen', 'handed_over', 'accepted']);
  expect(email['trace'][1].detail.route).toBe(null);
});

it('give mail to the next provider while the default one is down', async () => {
  isAway = true;
  const shop = await newRoutedShop(engine);
  for (let count = 1; count <= 5; count++) {
    const email = await shop.readIn(await shop.send(), 'SENT');
    expect([backup.accepted.length, email['providerId']]).toEqual([count, 'backup']);
  }
});

it('come after those of a project', async () => {
  const shop = await newRoutedShop(engine);
  const before = backup.accepted.length;
  await shop.setRoutes(shop.route(['backup']));
  const email = await shop.readIn(await shop.send(), 'SENT');
  expect([backup.accepted.length, email['trace'][1].detail.route]).toEqual([before + 1, 0]);
});
