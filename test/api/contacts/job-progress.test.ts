import { describe, expect, it } from 'vitest';
import {
  failImport,
  recordImportBatch,
  startImport,
} from '../../../db/transactions/contacts/import-batch.ts';
import { cancelJobs } from '../../../db/jobs/jobs.ts';
import { useShop } from '../../support/projects/shop.ts';
import { formWith } from '../../support/projects/upload.ts';

/** The test does the work of the import's run, because no worker runs here. */

const shop = await useShop();

async function post() {
  const form = await formWith('email\nada@x.example\n');
  const key = shop.project.secretKey;
  const { body } = await shop.api.request('POST', '/contacts/import', { key, ...form });
  return { projectId: shop.project.id, jobId: body.jobId as string };
}

type Job = Awaited<ReturnType<typeof post>>;

async function shown({ jobId }: Job) {
  const { body } = await shop.call('GET', `/contacts/import/${jobId}`);
  return [body.state, body.progress];
}

/** Processes so many rows after the first `position`; invalid rows count as processed. */
async function work(job: Job, position: number, count: number): Promise<void> {
  const rows = Array.from({ length: count }, (_, index) => ({
    row: position + index + 2,
    email: 'nope',
    error: 'Not an email address.',
  }));
  await recordImportBatch(shop.api.db, job, { position, rows });
}

/** Creates an import of a thousand rows with all but one processed. */
async function almostDone(): Promise<Job> {
  const job = await post();
  await startImport(shop.api.db, job, 1000);
  await work(job, 0, 999);
  return job;
}

describe('the progress of a job', () => {
  it('is a hundred when it is completed, not before', async () => {
    const job = await post();
    expect(await shown(job)).toEqual(['waiting', 0]);
    await startImport(shop.api.db, job, 1000);
    expect(await shown(job)).toEqual(['active', 0]);
    await work(job, 0, 500);
    expect(await shown(job)).toEqual(['active', 50]);
    await work(job, 500, 499);
    expect(await shown(job)).toEqual(['active', 99]);
    await work(job, 999, 1);
    expect(await shown(job)).toEqual(['completed', 100]);
  });

  it('is a hundred of one that had nothing to do', async () => {
    const job = await post();
    await startImport(shop.api.db, job, 0);
    expect(await shown(job)).toEqual(['completed', 100]);
  });

  it('stays where it was when the job fails', async () => {
    const fresh = await post();
    await failImport(shop.api.db, fresh, 'It is empty.');
    expect(await shown(fresh)).toEqual(['failed', 0]);
    const late = await almostDone();
    await failImport(shop.api.db, late, 'It cannot be read.');
    expect(await shown(late)).toEqual(['failed', 99]);
  });

  it('stays where it was when the job is cancelled', async () => {
    const job = await almostDone();
    await shop.api.db.transaction().execute((tx) => cancelJobs(tx, { projectId: job.projectId }));
    expect(await shown(job)).toEqual(['cancelled', 99]);
  });
});
