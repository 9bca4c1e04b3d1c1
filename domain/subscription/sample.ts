import { keyExpiredEvent, keyExpiringEvent, rampStoppedEvent } from '../event-names.ts';
import type { SentEvent } from './request.ts';
import { linkIdOf } from '../links/link-ids.ts';

/** Sample events for tests of a subscription, with invented ids and values. */

/** The contact's address in each sample. */
const address = 'sample@example.com';

/**
 * Returns a sample event. An event of the system has realistic data, any other has none.
 * @param ids for the event and the objects it refers to; `projectId` is a real one
 */
export function sampleEvent(
  name: string,
  ids: { eventId: string; contactId: string; emailId: string; projectId: string; now: Date },
): { event: SentEvent; contact: { id: string; email: string } } {
  const { eventId, contactId, projectId } = ids;
  const isOfMail = name.startsWith('email.');
  const createdAt = ids.now.toISOString();
  const event = {
    id: eventId,
    name,
    data: sampleData(name, ids.emailId, createdAt),
    projectId,
    contactId,
    emailId: isOfMail ? ids.emailId : null,
    createdAt,
  };
  return { event, contact: { id: contactId, email: address } };
}

function sampleData(name: string, emailId: string, at: string): Record<string, unknown> {
  const base = {
    subject: 'A sample',
    from: 'team@example.com',
    fromName: 'Team',
    messageId: '<sample@example.com>',
    emailId,
    templateId: null,
    campaignId: null,
    sourceType: 'TRANSACTIONAL',
  };
  const link = 'https://example.com/';
  switch (name) {
    case 'email.sent':
      return { ...base, sentAt: at };
    case 'email.delivery':
      return { ...base, deliveredAt: at };
    case 'email.open':
      return { ...base, openedAt: at, opens: 1, isFirstOpen: true };
    case 'email.click':
      return {
        ...base,
        link,
        linkId: linkIdOf(link),
        clickedAt: at,
        clicks: 1,
        isFirstClick: true,
      };
    case 'email.human_open':
      return { ...base, openedAt: at, isFirst: true };
    case 'email.human_click':
      return { ...base, clickedAt: at, link, linkId: linkIdOf(link), isFirst: true };
    case 'email.bounce':
      return { ...base, bounceType: 'Permanent', bouncedAt: at };
    case 'email.complaint':
      return { ...base, complainedAt: at };
    case rampStoppedEvent:
      return {
        rampId: emailId,
        providerId: null,
        domain: 'example.com',
        stoppedFor: 'bounces',
        rate: 5,
      };
    default:
      return otherData(name, at);
  }
}

function otherData(name: string, at: string): Record<string, unknown> {
  const sampleId = '00000000-0000-4000-8000-000000000000';
  switch (name) {
    case 'email.received':
      return {
        messageId: 'sample',
        from: address,
        to: 'team@example.com',
        subject: 'A sample',
        hasContent: true,
        body: '<p>Hello</p>',
        fromHeader: address,
        timestamp: at,
        recipients: ['team@example.com'],
        spamVerdict: 'PASS',
        virusVerdict: 'PASS',
        spfVerdict: 'PASS',
        dkimVerdict: 'PASS',
        dmarcVerdict: 'PASS',
        processingTimeMillis: 100,
      };
    case 'contact.topic.subscribed':
    case 'contact.topic.unsubscribed':
      return { topic: 'news', source: 'api' };
    case 'contact.subscribed':
    case 'contact.unsubscribed':
      return { source: 'api' };
    case keyExpiringEvent:
      return { keyId: sampleId, name: 'A sample', expiresAt: at, daysLeft: 7 };
    case keyExpiredEvent:
      return { keyId: sampleId, name: 'A sample', expiresAt: at };
    default:
      return /^segment\..+\.(?:entry|exit)$/s.test(name)
        ? { segmentId: sampleId, segmentName: 'A sample' }
        : {};
  }
}
