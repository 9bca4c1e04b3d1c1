import { z } from 'zod';
import { type Database, transact } from '../../db/database.ts';
import { releaseHeldMail, requestRelease } from '../../db/delivery/releases.ts';
import { holdProject } from '../../db/projects/projects.ts';
import {
  deleteRamp as deleteRow,
  findRamp,
  haltRamp,
  insertRamp,
  listRamps as listRows,
  lockRamp,
  lockRamps,
  passDays,
  type RampRow,
  resumeRamp as resumeRow,
} from '../../db/ramps/ramps.ts';
import { found, Problem, whenRight, bug } from '../../domain/errors.ts';
import { limits } from '../../domain/limits.ts';
import { normaliseDomainName } from '../../domain/sender/domain-name.ts';
import type { ProjectCaller } from '../access/caller.ts';
import { endpoint } from '../http/endpoint.ts';
import { addFault, ById, textRead } from '../http/schemas.ts';
import { Over, presentRamps, Ramp, rampExample } from './record.ts';
import { holdRampProvider } from './providers.ts';

/** Warm-up of a mail provider or sender domain by a daily limit that rises. */

const Percent = z.number().min(0).max(100);

const NewRamp = z
  .object({
    providerId: z.string().nullable().default(null),
    domain: textRead(
      normaliseDomainName,
      'invalid_string',
      'Must be a domain name, such as shop.example.com.',
    )
      .nullable()
      .default(null),
    startPerDay: z.int().min(1).max(limits.rampStartPerDay).describe('Messages of the first day'),
    factor: z
      .number()
      .min(1)
      .max(3)
      .default(1.5)
      .describe('Each day has this times the day before'),
    days: z.int().min(1).max(limits.rampDays).describe('After the last day there is no limit'),
    over: Over.default('hold'),
    stopWhen: z
      .object({
        bounceRate: Percent.nullable().default(null),
        complaintRate: Percent.nullable().default(null),
        minSent: z.int().min(1).default(100),
      })
      .nullable()
      .default(null)
      .describe('Rates in percent at which it stops; null: never'),
  })
  .superRefine(
    ({ providerId, domain }, context) => {
      if (providerId !== null || domain !== null) return;
      addFault(context, 'required', 'Give `providerId`, `domain` or both.', ['providerId']);
    },
    whenRight('providerId', 'domain'),
  );

const listRamps = endpoint({
  id: 'listRamps',
  method: 'GET',
  path: '/ramps',
  summary: 'List the ramps, newest first: daily limits that warm up a provider or sender domain',
  description: 'A project has at most 20.',
  access: 'secret',
  response: z.array(Ramp),
  example: { response: [rampExample] },
  async handle({ db, caller }) {
    return presentRamps(db, await listRows(db, caller.projectId), caller.project);
  },
});

const createRamp = endpoint({
  id: 'createRamp',
  method: 'POST',
  path: '/ramps',
  summary: 'Start a ramp: warm up a mail provider or sender domain',
  description:
    'It counts the mail of this project by `providerId`, from `domain`, or both, and begins now. ' +
    'Day n allows `startPerDay` · `factor`ⁿ⁻¹ messages, rounded down; other mail waits for the ' +
    'next day. Transactional mail counts and never waits. RAMP_EXISTS: an unfinished ramp has ' +
    'the same provider and domain. RAMP_LIMIT: the project has 20 ramps already.',
  access: 'secret',
  role: 'ADMIN',
  status: 201,
  body: NewRamp,
  response: Ramp,
  problems: ['RAMP_EXISTS', 'RAMP_LIMIT'],
  example: {
    body: {
      domain: 'news.shop.example',
      startPerDay: 200,
      days: 14,
      stopWhen: { bounceRate: 5, complaintRate: 0.1, minSent: 100 },
    },
    response: {
      ...rampExample,
      day: 1,
      cap: 200,
      used: 0,
      held: 0,
      nextDayAt: '2026-11-22T08:00:00.000Z',
      history: [],
      updatedAt: rampExample.createdAt,
    },
  },
  async handle({ db, keyUse, config, mailPool, note, caller: { projectId, project }, body }) {
    const { stopWhen } = body;
    return transact(db, async (tx) => {
      await holdProject(tx, projectId);
      await lockRamps(tx, projectId);
      await holdRampProvider(tx, mailPool, { projectId, providerId: body.providerId });
      refuseFurther(await listRows(tx, projectId), body);
      const row = await insertRamp(tx, {
        project_id: projectId,
        provider_id: body.providerId,
        domain: body.domain,
        start_per_day: body.startPerDay,
        factor: body.factor,
        days: body.days,
        over: body.over,
        bounce_rate: stopWhen?.bounceRate ?? null,
        complaint_rate: stopWhen?.complaintRate ?? null,
        min_sent: stopWhen?.minSent ?? null,
        day_seconds: config.rampDaySeconds,
      });
      const target = { type: 'ramp', id: row.id };
      await note({ event: 'ramp.created', projectId, target }, tx);
      const record = await onlyRecord(tx, row, project);
      await keyUse?.completeIn(tx, record, 201);
      return record;
    });
  },
});

/**
 * Refuses a second ramp for the same mail, and too many ramps.
 * @throws Problem RAMP_EXISTS, RAMP_LIMIT
 */
function refuseFurther(
  rows: readonly RampRow[],
  { providerId, domain }: Pick<z.output<typeof NewRamp>, 'providerId' | 'domain'>,
): void {
  const same = rows.find(
    (row) => row.status !== 'DONE' && row.provider_id === providerId && row.domain === domain,
  );
  if (same) throw new Problem('RAMP_EXISTS', { details: { id: same.id } });
  if (rows.length < limits.ramps) return;
  const message = `The project already has ${limits.ramps} ramps, which is the maximum.`;
  throw new Problem('RAMP_LIMIT', { message, details: { limit: limits.ramps } });
}

async function onlyRecord(db: Database, row: RampRow, project: ProjectCaller['project']) {
  const [record] = await presentRamps(db, [row], project);
  if (!record) throw bug('Presenting a ramp has returned no record.');
  return record;
}

const getRamp = endpoint({
  id: 'getRamp',
  method: 'GET',
  path: '/ramps/{id}',
  summary: 'Get one ramp with its counts',
  description: 'RAMP_NOT_FOUND: there is no such ramp in the project.',
  access: 'secret',
  params: ById,
  response: Ramp,
  problems: ['RAMP_NOT_FOUND'],
  example: { response: rampExample },
  async handle({ db, caller, params: { id } }) {
    return readRamp(db, caller, id);
  },
});

async function readRamp(db: Database, { projectId, project }: ProjectCaller, id: string) {
  return onlyRecord(db, found('RAMP', id, await findRamp(db, projectId, id)), project);
}

/**
 * Milliseconds for which a request itself releases held mail. The periodic sweep releases the
 * remaining mail.
 */
const releasingMs = 5_000;

const deleteRamp = endpoint({
  id: 'deleteRamp',
  method: 'DELETE',
  path: '/ramps/{id}',
  summary: 'Delete a ramp, in any state',
  description: 'The mail that it holds is due at once.',
  access: 'secret',
  role: 'ADMIN',
  status: 204,
  params: ById,
  response: z.void(),
  problems: ['RAMP_NOT_FOUND'],
  async handle({ db, caller, params: { id }, note }) {
    const { projectId } = caller;
    await changeRamp(db, caller, id, async (tx, ramp) => {
      await deleteRow(tx, ramp);
      await requestRelease(tx, projectId);
      await note({ event: 'ramp.deleted', projectId, target: { type: 'ramp', id } }, tx);
    });
    const end = Date.now() + releasingMs;
    await releaseHeldMail(db, projectId, () => Date.now() > end);
  },
});

const pauseRamp = endpoint({
  id: 'pauseRamp',
  method: 'POST',
  path: '/ramps/{id}/pause',
  summary: 'Pause a running ramp: its mail waits, and days do not pass',
  description: 'RAMP_NOT_RUNNING: its status is not RUNNING. Transactional mail still leaves.',
  access: 'secret',
  role: 'ADMIN',
  params: ById,
  response: Ramp,
  problems: ['RAMP_NOT_FOUND', 'RAMP_NOT_RUNNING'],
  example: { response: { ...rampExample, status: 'PAUSED', nextDayAt: null } },
  async handle({ db, caller, params: { id }, note }) {
    await changeRamp(db, caller, id, async (tx, ramp) => {
      const { status } = ramp;
      if (status !== 'RUNNING') throw new Problem('RAMP_NOT_RUNNING', { details: { status } });
      await haltRamp(tx, ramp, { status: 'PAUSED' });
      const target = { type: 'ramp', id };
      await note({ event: 'ramp.paused', projectId: caller.projectId, target }, tx);
    });
    return readRamp(db, caller, id);
  },
});

const resumeRamp = endpoint({
  id: 'resumeRamp',
  method: 'POST',
  path: '/ramps/{id}/resume',
  summary: 'Resume a paused or stopped ramp on the same day',
  description:
    'Only mail from now on counts for `stopWhen`. RAMP_NOT_PAUSED: its status is RUNNING or DONE.',
  access: 'secret',
  role: 'ADMIN',
  params: ById,
  response: Ramp,
  problems: ['RAMP_NOT_FOUND', 'RAMP_NOT_PAUSED'],
  example: { response: rampExample },
  async handle({ db, caller, params: { id }, note }) {
    await changeRamp(db, caller, id, async (tx, ramp) => {
      const { status } = ramp;
      if (status !== 'PAUSED' && status !== 'STOPPED') {
        throw new Problem('RAMP_NOT_PAUSED', { details: { status } });
      }
      await resumeRow(tx, ramp);
      const target = { type: 'ramp', id };
      await note({ event: 'ramp.resumed', projectId: caller.projectId, target }, tx);
    });
    return readRamp(db, caller, id);
  },
});

/** Changes a locked ramp. The ramp's run then releases held mail. @throws Problem RAMP_NOT_FOUND */
async function changeRamp(
  db: Database,
  { projectId }: ProjectCaller,
  id: string,
  change: (tx: Database, ramp: RampRow) => Promise<void>,
): Promise<void> {
  await transact(db, async (tx) => {
    found('RAMP', id, await findRamp(tx, projectId, id));
    const { now, ...ramp } = found('RAMP', id, await lockRamp(tx, id));
    await change(tx, await passDays(tx, ramp, now));
  });
}

export const rampEndpoints = [listRamps, createRamp, getRamp, deleteRamp, pauseRamp, resumeRamp];
