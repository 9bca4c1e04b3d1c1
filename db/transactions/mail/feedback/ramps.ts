import type { Database } from '../../../database.ts';
import { countForRamps, type RampReport } from '../../../ramps/reports.ts';
import { recordEventsOfProjects } from '../../events/record-events.ts';
import { rampStoppedEvent } from '../../../../domain/event-names.ts';
import type { MessageState } from '../../../../domain/mail/feedback.ts';

/** A change of a message by feedback. */
interface MessageChange {
  /** The message before the change. */
  email: Pick<MessageState, 'bounced_at' | 'complained_at'> & {
    project_id: string;
    from_email: string;
    provider_id: string | null;
    /** True if the project has an unfinished ramp. */
    has_ramp: boolean;
    now: Date;
  };
  state: MessageState;
}

/** Counts the changes for the ramps, and stops the ramps that have reached their threshold. */
export async function stopRamps(tx: Database, changes: readonly MessageChange[]): Promise<void> {
  const stops = await countForRamps(tx, changes.flatMap(reportsOf));
  if (stops.length === 0) return;
  const events = stops.map(({ projectId, data }) => ({
    projectId,
    contactId: null,
    name: rampStoppedEvent,
    data: { ...data },
  }));
  await recordEventsOfProjects(tx, events);
}

/** Returns the first bounce and the first complaint of a message. */
function reportsOf({ email, state }: MessageChange): RampReport[] {
  if (!email.has_ramp) return [];
  const report = {
    projectId: email.project_id,
    fromEmail: email.from_email,
    providerId: email.provider_id,
    sentAt: state.sent_at ?? email.now,
  };
  const isFirst = (at: 'bounced_at' | 'complained_at') => email[at] === null && state[at] !== null;
  return [
    ...(isFirst('bounced_at') ? [{ ...report, kind: 'bounced' as const }] : []),
    ...(isFirst('complained_at') ? [{ ...report, kind: 'complained' as const }] : []),
  ];
}
