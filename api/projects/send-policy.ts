import { z } from 'zod';
import { type Database, transact } from '../../db/database.ts';
import { releaseHeldMail, requestRelease } from '../../db/delivery/releases.ts';
import {
  readSendPolicy,
  type StoredSendPolicy,
  updateSendPolicy,
} from '../../db/projects/send-policy.ts';
import { changesBetween } from '../access/changes.ts';
import { weekdays } from '../../domain/time/zones.ts';
import { endpoint } from '../http/endpoint.ts';
import { named, Time, time } from '../http/schemas.ts';
import { SendPolicyChange, sendPolicyFields } from './send-policy-input.ts';

/**
 * The send policy: when marketing mail of campaigns and workflows may be sent to a contact, and how
 * often.
 */

/**
 * Milliseconds for which `PUT /send-policy` itself releases held mail. The periodic sweep releases
 * the remaining mail.
 */
const releasingMs = 5_000;

const SendPolicy = named('SendPolicy', {
  ...sendPolicyFields,
  timeZone: z.string().describe("The project's time zone, for contacts without their own"),
  contactTimeZoneField: z.string().nullable(),
  quietHours: named('QuietHours', {
    from: z.string(),
    to: z.string(),
    days: z.array(z.enum(weekdays)),
  }).nullable(),
  updatedAt: Time.nullable().describe('null: it was never set'),
});

function present({ updatedAt, quietHours, caps, ...policy }: StoredSendPolicy) {
  return {
    ...policy,
    quietHours: quietHours && { ...quietHours, days: [...quietHours.days] },
    caps: [...caps],
    updatedAt: time(updatedAt),
  };
}

const example: z.input<typeof SendPolicy> = {
  timeZone: 'Europe/Berlin',
  contactTimeZoneField: 'data.timeZone',
  quietHours: { from: '21:00', to: '08:00', days: [...weekdays] },
  caps: [{ max: 3, perDays: 7 }],
  onCap: 'delay',
  updatedAt: '2026-11-20T10:00:00.000Z',
};

const about =
  'The policy applies only to mail of class MARKETING that campaigns and SEND_EMAIL steps send to ' +
  'the contact itself.';

const getSendPolicy = endpoint({
  id: 'getSendPolicy',
  method: 'GET',
  path: '/send-policy',
  summary: 'Get the send policy: when marketing mail may reach contacts, and how often',
  description: `Defaults and \`updatedAt: null\` until it is set. ${about}`,
  access: 'secret',
  response: SendPolicy,
  example: { response: example },
  async handle({ db, caller }) {
    return present(await readSendPolicy(db, caller.projectId));
  },
});

const putSendPolicy = endpoint({
  id: 'setSendPolicy',
  method: 'PUT',
  path: '/send-policy',
  summary: 'Set the send policy: when marketing mail may reach contacts, and how often',
  description: `Fields that are left out keep their value. Held mail is decided again. ${about}`,
  access: 'secret',
  role: 'ADMIN',
  body: SendPolicyChange,
  response: SendPolicy,
  example: {
    body: {
      timeZone: 'Europe/Berlin',
      quietHours: { from: '21:00', to: '08:00' },
      caps: [{ max: 3, perDays: 7 }],
      onCap: 'delay',
    },
    response: example,
  },
  async handle({ db, caller: { projectId }, body, note }) {
    await transact(db, async (tx) => {
      const { before, after } = await storeSendPolicy(tx, projectId, body);
      const details = { fields: Object.keys(body).join(', ') };
      const changes = changesBetween(before, after, { fields: Object.keys(body) });
      await note({ event: 'send_policy.changed', projectId, changes, details }, tx);
    });
    const end = Date.now() + releasingMs;
    await releaseHeldMail(db, projectId, () => Date.now() > end);
    return present(await readSendPolicy(db, projectId));
  },
});

/**
 * Changes the send policy, in the transaction of the caller, and requests that held mail is
 * released or held again by the new policy. The periodic sweep does this, unless the caller calls
 * `releaseHeldMail` after the commit.
 */
export async function storeSendPolicy(
  tx: Database,
  projectId: string,
  change: z.output<typeof SendPolicyChange>,
): Promise<{ before: StoredSendPolicy; after: StoredSendPolicy }> {
  const before = await readSendPolicy(tx, projectId);
  await updateSendPolicy(tx, projectId, change);
  await requestRelease(tx, projectId);
  return { before, after: await readSendPolicy(tx, projectId) };
}

export const sendPolicyEndpoints = [getSendPolicy, putSendPolicy];
