import type { Context } from 'koa';
import { expect, it } from 'vitest';
import { refuseOnTrackingHosts } from '../../../api/emails/tracking-host.ts';
import { useApi } from '../../support/api.ts';
import { recordStatements } from '../../support/statements.ts';

it('hosts that a stranger makes up are looked up a thousand times in 5 seconds at most', async () => {
  const { services } = await useApi();
  const refuse = refuseOnTrackingHosts(services);
  const statements = recordStatements();
  let served = 0;
  for (let number = 0; number < 1_200; number += 1) {
    const context = { hostname: `h${number}.made-up.test`, path: '/contacts' };
    await refuse(context as Context, async () => void (served += 1));
  }
  const looked = statements.take().filter(({ text }) => text.includes('tracking_subdomain'));
  expect(served).toBe(1_200);
  expect(looked.length).toBeLessThanOrEqual(1_000);
  expect(looked.length).toBeGreaterThan(0);
});
