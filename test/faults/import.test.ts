import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import { useEngine } from '../support/engine.ts';
import { useWorkerProcess } from '../support/processes/processes.ts';
import { endOfJob, importFile } from '../support/projects/upload.ts';
import { waitFor } from '../support/wait-for.ts';

/** Kills a real worker process in the middle of an import. */

const contacts = 30_000;
const engine = await useEngine({}, { worker: false });

const position = async (jobId: string) => {
  const query = engine.api.db.selectFrom('job').select(['position', 'state']);
  return query.where('id', '=', jobId).executeTakeFirstOrThrow();
};

/** Kills a worker each time the job has advanced. Returns its positions at these moments. */
async function killAlongTheWay(jobId: string, times: number): Promise<number[]> {
  const places: number[] = [];
  for (let kill = 1; kill <= times; kill++) {
    const worker = await useWorkerProcess(engine);
    const goal = (kill * contacts) / (times + 2);
    await waitFor('progress', async () => (await position(jobId)).position >= goal, 60_000);
    await worker.kill();
    places.push((await position(jobId)).position);
  }
  await useWorkerProcess(engine);
  return places;
}

describe('a worker killed again and again', () => {
  it('in an import leaves each row to be counted once, and each event to happen once', async () => {
    const { db } = engine.api;
    // Half of the contacts exist already, unsubscribed.
    await sql`
      insert into contact (project_id, email, subscribed)
        select ${engine.project.id}, 'person' || number || '@people.test', false
          from generate_series(0, ${contacts}::int - 1, 2) as number`.execute(db);
    const lines = Array.from(
      { length: contacts },
      (_, index) => `person${index}@people.test,yes,${index}`,
    );
    const bad = Array.from({ length: 10 }, (_, index) => `bad ${index},yes,`);
    const jobId = await importFile(engine, ['email,subscribed,n', ...lines, ...bad].join('\n'));
    const places = await killAlongTheWay(jobId, 3);
    expect(places.every((place) => place > 0 && place < contacts)).toBe(true);

    const job = await endOfJob(engine, jobId, 90_000);
    expect(job).toMatchObject({ state: 'completed', progress: 100 });
    expect(job.result).toMatchObject({
      totalRows: contacts + 10,
      successCount: contacts,
      createdCount: contacts / 2,
      updatedCount: contacts / 2,
      failureCount: 10,
    });
    expect(job.result.errors).toHaveLength(10);
    const { rows } = await sql<{ contacts: number; right: number; events: number; told: number }>`
      select count(*)::int as contacts,
          count(*) filter (where subscribed
            and email = 'person' || (data ->> 'n') || '@people.test')::int as right,
          (select count(*)::int from event) as events,
          (select count(distinct contact_id)::int from event
            where name = 'contact.subscribed') as told
        from contact`.execute(db);
    expect(rows).toEqual([{ contacts, right: contacts, events: contacts / 2, told: contacts / 2 }]);
  }, 240_000);

  it('in a bulk action does the same', async () => {
    const { db } = engine.api;
    await db.deleteFrom('event').execute();
    const { body } = await engine.call('POST', '/contacts/bulk-unsubscribe', {
      mode: 'query',
      filter: {},
    });
    await killAlongTheWay(body.jobId, 2);
    const { result } = await endOfJob(engine, body.jobId, 90_000);
    expect(result).toMatchObject({
      totalRequested: contacts,
      successCount: contacts,
      unchanged: 0,
      failureCount: 0,
    });
    const { rows } = await sql<{ events: number; told: number; subscribed: number }>`
      select count(*)::int as events, count(distinct contact_id)::int as told,
          (select count(*)::int from contact where subscribed) as subscribed
        from event where name = 'contact.unsubscribed'`.execute(db);
    expect(rows).toEqual([{ events: contacts, told: contacts, subscribed: 0 }]);
  }, 240_000);
});
