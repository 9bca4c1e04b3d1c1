import { sql } from 'kysely';
import { expect, it } from 'vitest';
import { columns } from '../../../db/tables.ts';
import { useApi } from '../../support/api.ts';
import { engagementOf } from '../../support/projects/engagement.ts';

/** Address and user agent of opens and clicks are nowhere. */

const api = await useApi({ TRUST_PROXY: 'true' });
const project = await api.createProject((await api.signUp()).cookie);
const call = (method: string, path: string, body?: unknown) =>
  api.request(method, path, { key: project.secretKey, body });
const { body: contact } = await call('POST', '/contacts', { email: 'ada@x.example' });
const { sentMail, settle } = engagementOf(api, project, contact.id);

const client = { agent: 'Peculiar-Agent/7.3', from: '198.51.100.77' };
const traces = /Peculiar|198\.51\.100\.77/;

it('no row and no response has them', async () => {
  const mail = await sentMail();
  await mail.open(client);
  await mail.click({ ...client, method: 'HEAD' });
  await mail.click(client);
  await settle();
  for (const table of Object.keys(columns)) {
    const { rows } = await sql<{ text: string }>`
      select held::text as text from ${sql.table(table)} held
        where held::text ~ ${traces.source} limit 1`.execute(api.db);
    expect([table, ...rows]).toEqual([table]);
  }
  for (const path of [
    `/emails/${mail.id}`,
    `/emails?campaignId=${mail.campaignId}`,
    `/campaigns/${mail.campaignId}/recipients`,
    `/campaigns/${mail.campaignId}/links`,
    `/contacts/${contact.id}/export`,
    `/contacts/${contact.id}/timeline`,
    '/events?limit=1000',
    '/activity',
    '/requests',
  ]) {
    const { status, body } = await call('GET', path);
    expect([path, status]).toEqual([path, 200]);
    expect(JSON.stringify(body)).not.toMatch(traces);
  }
});
