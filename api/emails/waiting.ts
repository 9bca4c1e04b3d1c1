import { z } from 'zod';
import { cancelEmail, rescheduleEmail } from '../../db/transactions/mail/waiting-mail.ts';
import { endpoint } from '../http/endpoint.ts';
import { ById } from '../http/schemas.ts';
import { refusePast } from '../public/prepared-mail.ts';
import { SendTime } from '../public/send-schema.ts';
import { Email, readEmail, waitingExample } from './emails.ts';

export const updateEmail = endpoint({
  id: 'updateEmail',
  method: 'PATCH',
  path: '/emails/{id}',
  summary: 'Reschedule waiting mail',
  description:
    '`scheduledFor` as in `/v1/send`; null: now. Only for mail of `/v1/send`, scheduled or ' +
    'not, until it is handed over; a pause after an attempt still applies. ' +
    'EMAIL_NOT_PENDING: it was sent, is being sent, or has failed, see `details.status`. ' +
    'EMAIL_NOT_RESCHEDULABLE: it belongs to a campaign or workflow. BILLING_LIMIT_EXCEEDED: ' +
    'the allowance for the month of the new time is used up.',
  access: 'secret',
  params: ById,
  body: z.object({ scheduledFor: SendTime }),
  response: Email,
  problems: [
    'EMAIL_NOT_FOUND',
    'EMAIL_NOT_PENDING',
    'EMAIL_NOT_RESCHEDULABLE',
    'SCHEDULE_IN_PAST',
    'BILLING_LIMIT_EXCEEDED',
  ],
  example: { body: { scheduledFor: '2026-12-01T09:00:00.000Z' }, response: waitingExample },
  async handle({
    db,
    config,
    caller: { projectId, project },
    params: { id },
    body: { scheduledFor: at },
  }) {
    const refuse = () => refusePast(at);
    await rescheduleEmail(db, config.billing, { projectId, id, at, refuse });
    return readEmail({ db, config }, project, id);
  },
});

export const deleteEmail = endpoint({
  id: 'deleteEmail',
  method: 'DELETE',
  path: '/emails/{id}',
  summary: 'Cancel waiting mail; it is never sent',
  description:
    'Works for mail of any source. The mail becomes FAILED with the error `cancelled`, and ' +
    'its record stays. A campaign continues with the other recipients, a workflow with the ' +
    'next step. EMAIL_NOT_PENDING: it was sent, is being sent, or has failed, see ' +
    '`details.status`.',
  access: 'secret',
  params: ById,
  response: Email,
  problems: ['EMAIL_NOT_FOUND', 'EMAIL_NOT_PENDING'],
  example: {
    response: {
      ...waitingExample,
      status: 'FAILED',
      hold: null,
      error: 'cancelled',
      trace: [
        ...waitingExample.trace,
        { at: '2026-11-20T11:00:00.000Z', state: 'withheld', detail: { reason: 'cancelled' } },
      ],
    },
  },
  async handle({ db, config, caller: { projectId, project }, params: { id } }) {
    await cancelEmail(db, { projectId, id });
    return readEmail({ db, config }, project, id);
  },
});

export const waitingEmailEndpoints = [updateEmail, deleteEmail];
