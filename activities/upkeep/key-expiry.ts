import { listAdministrators } from '../../db/accounts/members.ts';
import { insertSecurityEvent, type SecurityEvent } from '../../db/accounts/security-events.ts';
import { type Database, transact } from '../../db/database.ts';
import { insertPlatformMail } from '../../db/emails/platform-mail.ts';
import { hasMoreEvents } from '../../db/events/events.ts';
import { type KeyNotice, takeKeyNotices } from '../../db/projects/key-expiry.ts';
import { findProject } from '../../db/projects/projects.ts';
import { recordEvents } from '../../db/transactions/events/record-events.ts';
import { systemActor } from '../../domain/access/actor.ts';
import { keyExpiredEvent, keyExpiringEvent } from '../../domain/event-names.ts';
import { limits } from '../../domain/limits.ts';
import { keysExpiringMail } from '../../domain/mail/account-mail.ts';

export interface KeyExpiryServices {
  db: Database;
  log: { info(fields: object, message: string): void };
  /** Sender of account mail; null: no account mail is sent. */
  platformFrom: string | null;
  dashboardUrl: string;
}

/** Numbers of days before the expiry of a key at which the administrators get a mail. */
const mailedDays = [7, 1];

/**
 * Maximum number of `api_key.expiring` events of a project per hour for which administrators get
 * mail. All keys of a project may expire together. Only a program that keeps changing expiry dates
 * exceeds this number, and such a program must not flood mailboxes.
 */
const mailedPerHour = 2 * limits.apiKeys;

/** Announces the due expiries of named keys, each once, project by project. */
export async function announceKeyEnds(
  services: KeyExpiryServices,
  isOver: () => boolean,
): Promise<void> {
  while (!isOver() && (await announceOfProject(services)));
}

/** Announces the due expiries of one project. Returns false when no project has due expiries. */
async function announceOfProject(services: KeyExpiryServices): Promise<boolean> {
  const expired = await transact(services.db, async (tx) => {
    const due = await takeKeyNotices(tx);
    if (!due) return null;
    const { projectId, publicId, notices } = due;
    await recordEvents(tx, projectId, notices.map(eventOf));
    const ended = notices.filter(({ daysLeft }) => daysLeft === 0).map(securityEventOf(projectId));
    for (const event of ended) await insertSecurityEvent(tx, event);
    await mailAdministrators(tx, services, due);
    return ended.map(({ changes: _changes, ...event }) => ({ ...event, projectId: publicId }));
  });
  for (const event of expired ?? []) services.log.info(event, 'security');
  return expired !== null;
}

function eventOf({ keyId, name, expiresAt, daysLeft }: KeyNotice) {
  const data = { keyId, name, expiresAt: expiresAt.toISOString() };
  return daysLeft === 0
    ? { contactId: null, name: keyExpiredEvent, data }
    : { contactId: null, name: keyExpiringEvent, data: { ...data, daysLeft } };
}

const securityEventOf =
  (projectId: string) =>
  ({ keyId }: KeyNotice): SecurityEvent => ({
    event: 'api_key.expired',
    userId: null,
    actor: systemActor('server'),
    projectId,
    ip: null,
    requestId: null,
    target: { type: 'api_key', id: keyId },
    changes: null,
    details: { keyId },
  });

/**
 * Writes to the administrators about keys with 7 days or 1 day left: one mail for each of these
 * numbers.
 */
async function mailAdministrators(
  tx: Database,
  { platformFrom, dashboardUrl }: KeyExpiryServices,
  { projectId, notices }: { projectId: string; notices: readonly KeyNotice[] },
): Promise<void> {
  if (platformFrom === null || !notices.some(isMailed)) return;
  const most = { name: keyExpiringEvent, max: mailedPerHour, hours: 1 };
  const project = await findProject(tx, projectId);
  if (!project || (await hasMoreEvents(tx, projectId, most))) return;
  const emails = await listAdministrators(tx, projectId);
  for (const days of mailedDays) {
    const keys = notices.filter(({ daysLeft }) => daysLeft === days).map(({ name }) => name);
    if (keys.length === 0) continue;
    const mail = keysExpiringMail({ project: project.name, keys, days, link: dashboardUrl });
    await insertPlatformMail(tx, platformFrom, emails, mail);
  }
}

const isMailed = ({ daysLeft }: KeyNotice) => mailedDays.includes(daysLeft);
