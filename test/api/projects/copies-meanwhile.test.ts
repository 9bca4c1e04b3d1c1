import { expect, it } from 'vitest';
import { resetProject } from '../../../db/transactions/projects/delete-project.ts';
import { useApi } from '../../support/api.ts';
import { overtaken } from '../../support/overtaken.ts';

/** Copies in a project that is reset while the request runs. */

const api = await useApi();
const { cookie } = await api.signUp();

it.each([
  ['templates', { name: 'T', subject: 's', body: 'b', type: 'HEADLESS' }],
  ['workflows', { name: 'W', eventName: 'joined' }],
])('the copy of one of the %s is refused with 404 PROJECT_NOT_FOUND', async (kind, body) => {
  const { id, secretKey: key } = await api.createProject(cookie);
  const made = await api.request('POST', `/${kind}`, { key, body });
  expect([made.status, made.body.error]).toEqual([201, undefined]);
  // Not by `api.request`, because the document does not name what only a reset causes.
  const answer = await overtaken(
    api,
    (tx) => resetProject(tx, id),
    async () => {
      const headers = { Authorization: `Bearer ${key}` };
      const url = `${api.url}/${kind}/${made.body.id}/duplicate`;
      const response = await fetch(url, { method: 'POST', headers });
      return { status: response.status, headers: response.headers, body: await response.json() };
    },
  );
  expect(answer).toEqual([404, 'PROJECT_NOT_FOUND']);
});
