import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { endpoints } from '../api/endpoints.ts';
import { dashboards } from '../dev/dashboards/dashboards.ts';
import { dashboardFile } from '../dev/dashboards/grafana.ts';
import { scopeOf } from '../domain/access/scopes.ts';
import { diagramFile, diagramsFolder } from '../api/docs/diagrams.ts';
import { openApiDocument } from '../api/docs/openapi.ts';
import { clientTypes, type OpenApi } from './support/client-types.ts';
import { diagramSources, drawDiagrams } from './support/draw-diagrams.ts';
import { checkRequest } from '../api/http/validation.ts';
import { useEngine } from './support/engine.ts';
import { runScenario } from './support/golden/golden-scenario.ts';
import { formatStatement, nounOf, nouns, recordStatements } from './support/statements.ts';

/**
 * Compares the API of clients and the SQL for PostgreSQL with files, so that a review shows
 * every change. `npm run golden` rewrites the files.
 */
async function expectGolden(name: string, text: string): Promise<void> {
  const file = join(import.meta.dirname, 'golden', name);
  if (process.env['GOLDEN'] === 'write') await writeFile(file, text);
  const hint = `${name} has changed. When that is meant: npm run golden`;
  expect(text, hint).toBe(await readFile(file, 'utf8'));
}

it('has a drawing of each diagram of the documentation, and no other', async () => {
  if (process.env['GOLDEN'] === 'write') await drawDiagrams();
  const files = new Set((await diagramSources()).map(diagramFile));
  const hint = 'A diagram of docs/ has changed: npm run golden';
  expect((await readdir(diagramsFolder)).toSorted(), hint).toEqual([...files].toSorted());
});

it.each(dashboards)('has the file of the dashboard $name', async (dashboard) => {
  await expectGolden(
    `../../deploy/grafana/everpost-${dashboard.name}.json`,
    dashboardFile(dashboard),
  );
});

describe('the API', () => {
  it('has the endpoints of endpoints.txt', async () => {
    const rows = endpoints
      .map((endpoint) => {
        const { id, method, path, access, role = '', fresh } = endpoint;
        const words = [access, scopeOf(endpoint) ?? '', role, fresh ? 'fresh' : ''];
        return { id, method, path, rights: words.filter((word) => word !== '').join(' ') };
      })
      .toSorted((a, b) => (`${a.path} ${a.method}` < `${b.path} ${b.method}` ? -1 : 1));
    const width = (key: 'id' | 'path') => Math.max(...rows.map((row) => row[key].length));
    const [idWidth, pathWidth] = [width('id'), width('path')];
    const lines = rows.map(
      ({ id, method, path, rights }) =>
        `${id.padEnd(idWidth)}  ${method.padEnd(6)}  ${path.padEnd(pathWidth)}  ${rights}`,
    );
    await expectGolden('endpoints.txt', `${lines.join('\n')}\n`);
  });

  it('is described as in openapi.json, and typed for the client as in client/api.ts', async () => {
    const settings = { apiUrl: 'http://localhost:8080', version: '0.0.0' };
    const document = openApiDocument(endpoints, settings);
    await expectGolden('openapi.json', `${JSON.stringify(document, null, 2)}\n`);
    const types = clientTypes(JSON.parse(JSON.stringify(document)) as OpenApi);
    await expectGolden('../../client/api.ts', types);
  });

  it('names each endpoint, and each method of a path, once', () => {
    const ids = endpoints.map(({ id }) => id);
    const routes = endpoints.map(
      ({ method, path }) => `${method} ${path.replaceAll(/\{\w+\}/g, '{}')}`,
    );
    expect(new Set(ids).size).toBe(ids.length);
    expect(new Set(routes).size).toBe(routes.length);
  });

  it('declares the parameters that are in the path', () => {
    for (const { path, params, projectParam } of endpoints) {
      const names = [...path.matchAll(/\{(\w+)\}/g)].map((match) => match[1] ?? '');
      const declared = params && 'shape' in params ? Object.keys(params.shape as object) : [];
      expect([path, declared.toSorted()]).toEqual([path, names.toSorted()]);
      if (projectParam) expect(names).toContain(projectParam);
    }
  });

  it.each(
    endpoints.filter(({ example }) => example?.body !== undefined).map((e) => [e.id, e] as const),
  )('documents %s with bodies it takes', (_, { body, example }) => {
    for (const given of [example?.body, ...Object.values(example?.bodies ?? {})]) {
      expect(() =>
        checkRequest(body ? { body } : {}, { params: {}, query: {}, body: given }),
      ).not.toThrow();
    }
  });

  it.each(
    endpoints
      .filter(({ example }) => example?.response !== undefined)
      .map((e) => [e.id, e] as const),
  )('documents %s with an answer it gives', (_, { response, example }) => {
    expect(response.safeParse(example?.response).error?.issues).toBeUndefined();
  });
});

describe('PostgreSQL', () => {
  it('is asked the statements of sql/ in one day of a shop', async () => {
    // Without sending limits, because waiting for them runs other statements.
    const engine = await useEngine({
      EMAIL_RATE_LIMIT_PER_SECOND: '100000',
      EMAIL_RATE_PER_PROJECT_PER_SECOND: '100000',
    });
    const statements = recordStatements();
    await runScenario(engine);
    await engine.stopWorker();
    const asked = new Set(statements.take().map(({ text }) => text));
    // A worker reports now and then that it is alive, and checks again what takes long to send.
    const byPace =
      /(insert into|delete from) worker_process|from email mail\s+join contact receiver/;
    const texts = [...asked].filter((text) => !byPace.test(text));
    for (const noun of nouns) {
      const own = texts.filter((text) => nounOf(text) === noun).map(formatStatement);
      await expectGolden(`sql/${noun}.sql`, `${own.toSorted().join('\n\n')}\n`);
    }
  }, 60_000);
});
