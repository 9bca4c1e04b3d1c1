import { actorOf } from '../access/caller.ts';
import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import { transact } from '../../db/database.ts';
import { findJob } from '../../db/jobs/jobs.ts';
import { holdProject } from '../../db/projects/projects.ts';
import { insertReplay } from '../../db/transactions/subscriptions/replay.ts';
import { fault, found, notFound, Problem, whenRight } from '../../domain/errors.ts';
import type { ReplayData } from '../../domain/job.ts';
import { EventName } from '../../domain/workflow/steps/schemas.ts';
import { selection } from '../../domain/filter/selection.ts';
import { endpoint } from '../http/endpoint.ts';
import { present } from '../http/record.ts';
import { Moment, Time, ById } from '../http/schemas.ts';
import {
  readContents,
  exampleProjectId,
  exampleRunId,
  exampleTimes,
  JobAccepted,
  jobOf,
} from '../jobs/record.ts';
import { PastMoment } from './input.ts';
import { requireSubscription, subscriptionExample } from './record.ts';

const Replay = jobOf('EventReplay', {
  data: z.object({
    projectId: z.uuid(),
    subscriptionId: z.uuid(),
    from: Time,
    to: Time,
    eventName: z.string().nullable(),
    onlyFailed: z.boolean(),
  }),
  result: z.object({ replayed: z.int() }),
});

const replayEvents = endpoint({
  id: 'replayEvents',
  method: 'POST',
  path: '/event-subscriptions/{id}/replay',
  summary: 'Send the events of a time span again',
  description:
    'A job makes all events pending that were created between `from` and `to` and match the ' +
    'current `events`, each with a new schedule. It includes events from before the ' +
    'subscription or while it was disabled, and leaves out those that are pending already. ' +
    '`onlyFailed`: only events that this subscription has not delivered. `from` is at most ' +
    '30 days ago. A subscription has one replay at a time (REPLAY_IN_PROGRESS, with ' +
    '`details.jobId`).',
  access: 'secret',
  role: 'ADMIN',
  status: 202,
  params: ById,
  body: selection({
    from: PastMoment,
    to: Moment.refine(
      (to) => to <= new Date(),
      fault('too_big', 'Must not be in the future. If you leave it out, it is the present time.'),
    )
      .optional()
      .describe('By default now'),
    eventName: EventName.nullish(),
    onlyFailed: z.boolean().default(false),
  }).refine(({ from, to }) => !to || to >= from, {
    path: ['to'],
    ...fault('too_small', 'Must not be before `from`.'),
    ...whenRight('from', 'to'),
  }),
  response: JobAccepted,
  problems: [
    'EVENT_SUBSCRIPTION_NOT_FOUND',
    'EVENT_SUBSCRIPTION_NOT_ENABLED',
    'REPLAY_IN_PROGRESS',
  ],
  example: {
    body: { from: '2026-11-21T08:00:00.000Z', onlyFailed: true },
    response: {
      message: 'The replay has been queued.',
      jobId: `replay-${exampleProjectId}-${exampleRunId}`,
    },
  },
  async handle({ db, caller, params: { id }, body, keyUse, note }) {
    const { projectId, project } = caller;
    const subscription = await requireSubscription(db, projectId, id);
    const now = new Date();
    const { from, to = now, eventName = null, onlyFailed } = body;
    const jobId = `replay-${project.publicId}-${randomUUID()}`;
    const data: ReplayData = {
      projectId: project.publicId,
      subscriptionId: id,
      from: from.toISOString(),
      to: to.toISOString(),
      eventName,
      onlyFailed,
    };
    const answer = { message: 'The replay has been queued.', jobId };
    return transact(db, async (tx) => {
      await holdProject(tx, projectId);
      const result = await insertReplay(
        tx,
        { projectId, jobId },
        { ...data, causedBy: actorOf(caller) },
      );
      if (result === 'missing') throw notFound('EVENT_SUBSCRIPTION', id);
      if (result === 'disabled') {
        const details = { disabledReason: subscription.disabled_reason };
        throw new Problem('EVENT_SUBSCRIPTION_NOT_ENABLED', { details });
      }
      if (result !== 'accepted') {
        throw new Problem('REPLAY_IN_PROGRESS', { details: { jobId: result.inProgress } });
      }
      const details = { subscriptionId: id, jobId };
      const target = { type: 'event_subscription', id };
      await note({ event: 'event_subscription.replayed', projectId, target, details }, tx);
      await keyUse?.completeIn(tx, answer, 202);
      return answer;
    });
  },
});

const getReplay = endpoint({
  id: 'getEventReplay',
  method: 'GET',
  path: '/event-subscriptions/{id}/replay/{jobId}',
  summary: 'Get the progress of a replay',
  description:
    '`completed`: all events are pending; their deliveries show the results. `cancelled`: ' +
    'the subscription was disabled or deleted, or its project. `progress` is in percent of ' +
    'the span of time.',
  access: 'secret',
  role: 'ADMIN',
  params: ById.extend({ jobId: z.string() }),
  response: Replay,
  problems: ['EVENT_SUBSCRIPTION_NOT_FOUND', 'JOB_NOT_FOUND'],
  example: {
    response: {
      id: `replay-${exampleProjectId}-${exampleRunId}`,
      state: 'completed',
      progress: 100,
      data: {
        projectId: exampleProjectId,
        subscriptionId: subscriptionExample.id,
        from: '2026-11-21T08:00:00.000Z',
        to: '2026-11-21T08:30:00.000Z',
        eventName: null,
        onlyFailed: true,
      },
      result: { replayed: 4 },
      failedReason: null,
      ...exampleTimes,
    },
  },
  async handle({ db, caller: { projectId, project }, params: { id, jobId } }) {
    await requireSubscription(db, projectId, id);
    const job = found('JOB', jobId, await findJob(db, projectId, 'replay', jobId));
    if (job.subscription_id !== id) throw notFound('JOB', jobId);
    type Result = { replayed: number };
    const contentOf = await readContents<ReplayData, Result>(db, [job], project);
    return present(Replay, job, contentOf(job));
  },
});

export const replayEndpoints = [replayEvents, getReplay];
