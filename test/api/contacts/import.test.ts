import { bySecretKey } from '../../support/actors.ts';
import { describe, expect, it } from 'vitest';
import { cancelJobs } from '../../../db/jobs/jobs.ts';
import type { TestRequest } from '../../support/api.ts';
import { refusal, useShop } from '../../support/projects/shop.ts';
import { formWith } from '../../support/projects/upload.ts';

const shop = await useShop();

const post = (request: TestRequest) =>
  shop.api.request('POST', '/contacts/import', { key: shop.project.secretKey, ...request });
const csv = 'email,plan\nada@x.example,pro\n';
const fiveMiB = 5 * 1024 * 1024;

describe('POST /contacts/import', () => {
  it('takes a CSV file: 202 with the id of a job that waits to be done', async () => {
    const { status, body } = await post(await formWith(csv, { filename: 'Zoë’s people.csv' }));
    expect([status, body]).toEqual([202, { message: expect.any(String), jobId: body.jobId }]);
    expect(body.jobId).toMatch(new RegExp(`^import-${shop.project.id}-[0-9a-f-]{36}$`));
    expect(shop.api.dispatched.at(-1)).toBe(body.jobId);
    const job = await shop.call('GET', `/contacts/import/${body.jobId}`);
    expect([job.status, job.body]).toEqual([
      200,
      {
        id: body.jobId,
        state: 'waiting',
        progress: 0,
        data: { projectId: shop.project.id, filename: 'Zoë’s people.csv', totalRows: null },
        result: null,
        failedReason: null,
        causedBy: bySecretKey,
        createdAt: expect.any(String),
        startedAt: null,
        finishedAt: null,
      },
    ]);
  });

  it.each([
    { type: 'text/csv; charset=utf-8', filename: 'people' },
    { type: 'application/vnd.ms-excel', filename: 'People.CSV' },
    { type: '', filename: 'people.csv' },
  ])('takes $type named $filename', async (part) => {
    expect((await post(await formWith(csv, part))).status).toBe(202);
  });

  it('takes a part with a file name and no type, as plain clients send it', async () => {
    const part = 'Content-Disposition: form-data; name="file"; filename="people.csv"';
    const text = 'email\n' + 'ada@x.example\n'.repeat(20_000);
    const { status, body } = await post({
      headers: { 'Content-Type': 'multipart/form-data; boundary=xx' },
      body: `--xx\r\n${part}\r\n\r\n${text}\r\n--xx--\r\n`,
    });
    expect(status).toBe(202);
    const file = await shop.api.db
      .selectFrom('import_file')
      .select('content')
      .where('job_id', '=', body.jobId)
      .executeTakeFirstOrThrow();
    expect(file.content.toString()).toBe(text);
  });

  it('takes exactly 5 MiB, and an empty file, whose job will fail', async () => {
    expect((await post(await formWith(new Uint8Array(fiveMiB)))).status).toBe(202);
    expect((await post(await formWith(''))).status).toBe(202);
  });

  it.each([1, 1024 * 1024])('answers 5 MiB and %s bytes 413 FILE_TOO_LARGE', async (more) => {
    const answer = await post(await formWith(new Uint8Array(fiveMiB + more)));
    expect(refusal(answer)).toEqual([413, 'FILE_TOO_LARGE']);
  });

  it('answers another kind of file 415', async () => {
    const png = await formWith('\x89PNG', { type: 'image/png', filename: 'people.png' });
    const answer = await post(png);
    expect(refusal(answer)).toEqual([415, 'UNSUPPORTED_MEDIA_TYPE']);
    expect(answer.body.error.suggestion).toBe(
      'Set the content type of the part `file` in the form, or rename the file.',
    );
  });

  it('returns 415 for a JSON body, before it checks credentials', async () => {
    for (const key of [shop.project.secretKey, 'sk_nobody']) {
      expect(refusal(await post({ key, body: {} }))).toEqual([415, 'UNSUPPORTED_MEDIA_TYPE']);
    }
  });

  it('without the field file answers 422 for it', async () => {
    const missing = [422, 'VALIDATION_ERROR', 'file invalid_type'];
    expect(refusal(await post({}))).toEqual(missing);
    expect(refusal(await post(await formWith(csv, { field: 'csv' })))).toEqual(missing);
    const headers = { 'Content-Type': 'multipart/form-data; boundary=xx' };
    const part = 'Content-Disposition: form-data; name="file"\r\n\r\ntext';
    const text = await post({ headers, body: `--xx\r\n${part}\r\n--xx--\r\n` });
    expect(refusal(text)).toEqual(missing);
    const twice = part.replace('name="file"', 'name="file"; filename="a.csv"');
    const two = await post({ headers, body: `--xx\r\n${twice}\r\n--xx\r\n${twice}\r\n--xx--\r\n` });
    expect(refusal(two)).toEqual(missing);
  });

  it.each([
    ['without a boundary', 'multipart/form-data', 'xx'],
    ['that breaks off', 'multipart/form-data; boundary=xx', '--xx\r\nContent-Disp'],
    ['that is no form', 'multipart/form-data; boundary=xx', 'email\nada@x.example'],
  ])('answers a form %s 400 INVALID_REQUEST_BODY', async (_, type, body) => {
    const answer = await post({ headers: { 'Content-Type': type }, body });
    expect(refusal(answer)).toEqual([400, 'INVALID_REQUEST_BODY']);
  });

  it('answers a file name with NUL 422 invalid_string', async () => {
    const part = 'Content-Disposition: form-data; name="file"; filename="a\0.csv"';
    const answer = await post({
      headers: { 'Content-Type': 'multipart/form-data; boundary=xx' },
      body: `--xx\r\n${part}\r\n\r\nemail\r\n--xx--\r\n`,
    });
    expect(refusal(answer)).toEqual([422, 'VALIDATION_ERROR', 'file.filename invalid_string']);
  });

  it('answers the same file under one key once; another file answers 409', async () => {
    const send = async (content: string) => {
      const form = await formWith(content);
      return post({ ...form, headers: { ...form.headers, 'Idempotency-Key': 'import 1' } });
    };
    const [first, again, other] = [await send(csv), await send(csv), await send(`${csv}x`)];
    expect(again.body).toEqual(first.body);
    expect(again.headers.get('idempotency-replayed')).toBe('true');
    expect(refusal(other)).toEqual([409, 'IDEMPOTENCY_KEY_REUSED']);
  });
});

describe('GET /contacts/import/{jobId}', () => {
  it('answers 404 JOB_NOT_FOUND to another project, for another kind, and for what is not there', async () => {
    const { jobId } = (await post(await formWith(csv))).body;
    const path = `/contacts/import/${jobId}`;
    const foreign = await shop.api.request('GET', path, { key: shop.other.secretKey });
    expect(refusal(foreign)).toEqual([404, 'JOB_NOT_FOUND']);
    expect(foreign.body.error.details).toEqual({ resource: 'job', id: jobId });
    const bulk = await shop.call('GET', `/contacts/bulk/${jobId}`);
    expect(refusal(bulk)).toEqual([404, 'JOB_NOT_FOUND']);
    const unknown = await shop.call('GET', '/contacts/import/nothing');
    expect(refusal(unknown)).toEqual([404, 'JOB_NOT_FOUND']);
  });

  it('shows a cancelled job without numbers, and its file is gone', async () => {
    const { db } = shop.api;
    const { jobId } = (await post(await formWith(csv))).body;
    const cancelled = await db
      .transaction()
      .execute((tx) => cancelJobs(tx, { projectId: shop.project.id }));
    expect(cancelled).toContain(jobId);
    const { body } = await shop.call('GET', `/contacts/import/${jobId}`);
    expect(body).toMatchObject({
      state: 'cancelled',
      result: null,
      failedReason: null,
      finishedAt: expect.any(String),
    });
    expect(await db.selectFrom('import_file').select('job_id').execute()).toEqual([]);
  });
});

describe('GET /imports', () => {
  it('lists the imports of the project, newest first, page by page', async () => {
    const { cookie } = await shop.api.signUp();
    const { secretKey: key } = await shop.api.createProject(cookie);
    const list = async (query = '') =>
      (await shop.api.request('GET', `/imports${query}`, { key })).body;
    expect(await list()).toEqual({ data: [], hasMore: false, total: 0 });
    const ids: string[] = [];
    for (let index = 0; index < 3; index += 1) {
      ids.unshift((await post({ ...(await formWith(csv)), key })).body.jobId);
    }
    const bulk = { key, body: { mode: 'query', filter: {} } };
    expect((await shop.api.request('POST', '/contacts/bulk-subscribe', bulk)).status).toBe(202);
    const whole = await list();
    expect(whole.data.map(({ id }: { id: string }) => id).toSorted()).toEqual(ids.toSorted());
    const [newest] = whole.data;
    const path = `/contacts/import/${newest.id}`;
    expect((await shop.api.request('GET', path, { key })).body).toEqual(newest);
    const paged = [];
    for (let cursor = ''; ;) {
      const page = await list(`?limit=1${cursor}`);
      expect(page.total).toBe(cursor === '' ? 3 : 0);
      paged.push(...page.data);
      if (!page.hasMore) break;
      cursor = `&cursor=${page.cursor}`;
    }
    expect(paged).toEqual(whole.data);
    const refused = await shop.api.request('GET', '/imports?cursor=zz', { key });
    expect(refusal(refused)).toEqual([422, 'VALIDATION_ERROR', 'cursor invalid_string']);
  });
});
