import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { insertDomain, withFreeName } from '../../db/domains.ts';
import { startTestApi, type TestApi } from '../support/api.ts';

let api: TestApi;
let projectId: string;
beforeAll(async () => {
  api = await startTestApi();
  projectId = (await api.createProject((await api.signUp()).cookie)).id;
});
afterAll(() => api.close());

describe('a domain name', () => {
  it('is taken only after the provider has forgotten it, so that what is new stays', async () => {
    const name = `${randomUUID()}.dev`;
    const order: string[] = [];
    let forget = (): void => {};
    let begun = (): void => {};
    const asked = new Promise<void>((resolve) => (begun = resolve));
    const forgetting = withFreeName(api.db, name, async () => {
      begun();
      await new Promise<void>((resolve) => (forget = resolve));
      order.push('forgotten');
    });
    await asked;
    const taking = insertDomain(api.db, { projectId, name }).then((row) => {
      order.push('taken');
      return row;
    });
    // Another name does not wait.
    expect(await insertDomain(api.db, { projectId, name: `x.${name}` })).toBeDefined();
    forget();
    await forgetting;
    expect(await taking).toBeDefined();
    expect(order).toEqual(['forgotten', 'taken']);
  });

  it('that somebody has is not forgotten', async () => {
    const name = `${randomUUID()}.dev`;
    await insertDomain(api.db, { projectId, name });
    await withFreeName(api.db, name, () => Promise.reject(new Error('not to be called')));
  });
});
