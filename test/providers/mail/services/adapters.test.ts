import { describe, expect, it } from 'vitest';
import type { Feedback } from '../../../../domain/mail/feedback.ts';
import { webhookServices } from '../../../../domain/provider/provider.ts';
import { adapterOf } from '../../../../providers/mail/services/adapters.ts';
import { eventsIn, readReport } from '../../../../providers/mail/services/read.ts';
import type {
  EventKind,
  FakeMailService,
  FakeRequest,
  ReportedMail,
} from '../../../support/fakes/mail-service.ts';
import { fakeMailServices } from '../../../support/fakes/mail-services.ts';

const mail = { emailId: 'c4b6d7c2-93cf-4e0a-8b1b-0a6f1f5f3e21', to: 'ada@mail.example' };
const at = new Date('2026-11-20T08:00:00.000Z');
const now = new Date('2026-11-20T08:10:00.000Z');

const nameOf = ({ feedback }: FakeMailService) => feedback;
const serviceOf = (name: string) => fakeMailServices.find((one) => one.feedback === name)!;
const adapter = (service: FakeMailService) => adapterOf(service.feedback)!;

function requestOf({ headers, body }: FakeRequest) {
  const lower = new Map(
    Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]),
  );
  const bytes = Buffer.from(body);
  return {
    bytes,
    events: () => eventsIn(bytes),
    header: (name: string) => lower.get(name.toLowerCase()) ?? '',
  };
}

/** Reads one event of a service, as it arrives in a request. */
function read(service: FakeMailService, event: unknown) {
  const request = requestOf(service.request(event));
  return readReport(adapter(service), request.events()[0], { request, now });
}

const readKind = (service: FakeMailService, kind: EventKind, given: Partial<ReportedMail> = {}) =>
  read(service, service.events[kind]!({ ...mail, at, ...given }));

const bounceTypeOf = (feedback: Feedback | undefined) =>
  feedback?.kind === 'bounce' && feedback.bounceType;

const meanings: Partial<Record<EventKind, string | null>> = {
  delivered: 'delivery',
  permanent: 'bounce',
  transient: 'bounce',
  delayed: 'delayed',
  complained: 'complaint',
  notSent: 'rejection',
  accepted: 'accepted',
  unsubscribed: 'unsubscribe',
  opened: null,
};

describe.each(fakeMailServices.map((service) => [nameOf(service), service] as const))(
  'an event of %s',
  (name, service) => {
    const kinds = Object.keys(service.events) as EventKind[];

    it.each(kinds)('of the kind %s is read', (kind) => {
      const report = readKind(service, kind);
      expect(report?.feedback.kind ?? null).toBe(meanings[kind]);
      if (!report) return;
      expect(report.emailId).toBe(mail.emailId);
      expect(report.feedback.at).toEqual(at);
    });

    it('about an unknown address is a permanent bounce', () => {
      expect(bounceTypeOf(readKind(service, 'permanent')?.feedback)).toBe('Permanent');
    });

    it('names its message by the Message-ID if our id is missing', () => {
      const report = readKind(service, 'delivered', { isBare: true });
      const has = name !== 'postmark' && name !== 'mailjet';
      expect(report?.emailId).toBe(has ? mail.emailId : undefined);
    });

    it('about a message of another program is ignored', () => {
      const other = { isBare: true, messageId: '20261120.1.DF59@shop.test' };
      expect(readKind(service, 'delivered', other)).toBeNull();
    });

    it('in the future has happened now', () => {
      const later = new Date(now.getTime() + 60_000);
      expect(readKind(service, 'delivered', { at: later })?.feedback.at).toEqual(now);
    });

    it('has a key that repeats have, too, and other events do not', () => {
      const event = service.events.delivered!({ ...mail, at });
      const request = service.request(event);
      const readAgain = () => {
        const given = requestOf(request);
        return readReport(adapter(service), given.events()[0], { request: given, now })?.key;
      };
      expect(readAgain()).toBe(readAgain());
      expect(readKind(service, 'complained')?.key).not.toBe(readAgain());
    });

    it('of any shape is ignored, not refused', () => {
      const event = service.events.delivered!({ ...mail, at });
      for (const value of [null, 1, 'text', [], {}, { event: {} }, { event: 'constructor' }]) {
        expect(read(service, [value])).toBeNull();
      }
      const broken = Object.fromEntries(Object.keys(event).map((key) => [key, [{}]]));
      expect(
        readReport(adapter(service), broken, { request: requestOf(service.request({})), now }),
      ).toBeNull();
    });
  },
);

// SendGrid has a field for the code, which counts before the text.
it.each(
  fakeMailServices
    .filter((one) => nameOf(one) !== 'sendgrid')
    .map((one) => [nameOf(one), one] as const),
)('a permanent bounce of %s is transient if its text has the code of a policy', (_, service) => {
  const text = '550 5.7.1 The message was rejected by policy.';
  expect(readKind(service, 'permanent', { text })?.feedback).toMatchObject({
    bounceType: 'Transient',
    text,
    report: { source: 'webhook', status: '5.7.1', text },
  });
});

describe('the check of a request', () => {
  const check = (service: FakeMailService, request: FakeRequest, secret = service.secret) =>
    adapter(service).authenticate(requestOf(request), secret, now);
  const event = (service: FakeMailService) => service.events.delivered!(mail);

  it.each(fakeMailServices.map((one) => [nameOf(one), one] as const))(
    'of %s takes the right one, and refuses a wrong one and one without',
    (_, service) => {
      expect(() => check(service, service.request(event(service), { at: now }))).not.toThrow();
      const other = service.request(event(service), { at: now, secret: 'whsec_b3RoZXI=' });
      expect(() => check(service, other)).toThrow(
        expect.objectContaining({ code: 'INVALID_SIGNATURE' }),
      );
      const bare = { headers: {}, body: JSON.stringify(event(service)) };
      expect(() => check(service, bare)).toThrow(
        expect.objectContaining({ code: 'MISSING_SIGNATURE' }),
      );
    },
  );

  it.each([
    ['mailgun', 15],
    ['sendgrid', 15],
    ['resend', 5],
  ])('of %s refuses one that was signed more than %d minutes ago', (name, minutes) => {
    const service = serviceOf(name);
    const signedAt = (ago: number) =>
      service.request(event(service), { at: new Date(now.getTime() - ago * 60_000) });
    expect(() => check(service, signedAt(minutes))).not.toThrow();
    for (const ago of [minutes + 1, -minutes - 1]) {
      expect(() => check(service, signedAt(ago))).toThrow(
        expect.objectContaining({ code: 'INVALID_SIGNATURE' }),
      );
    }
  });

  it.each(['sendgrid', 'resend'])('of %s refuses a body that was changed', (name) => {
    const service = serviceOf(name);
    const { headers, body } = service.request(event(service), { at: now });
    expect(() => check(service, { headers, body: body.replace('ada@', 'eve@') })).toThrow(
      expect.objectContaining({ code: 'INVALID_SIGNATURE' }),
    );
  });

  it('of Mailgun refuses a list in which one event has a wrong signature', () => {
    const service = serviceOf('mailgun');
    const of = (secret: string) =>
      JSON.parse(service.request(event(service), { at: now, secret }).body) as object;
    const body = JSON.stringify([of(service.secret), of('another')]);
    expect(() => check(service, { headers: {}, body })).toThrow(
      expect.objectContaining({ code: 'INVALID_SIGNATURE' }),
    );
  });

  it('of SendGrid refuses all requests if the secret is no public key', () => {
    const service = serviceOf('sendgrid');
    const request = service.request(event(service), { at: now });
    for (const secret of ['not a key', Buffer.from('{}').toString('base64')]) {
      expect(() => check(service, request, secret)).toThrow(
        expect.objectContaining({ code: 'INVALID_SIGNATURE' }),
      );
    }
  });

  it('of Brevo takes the secret as a password, too', () => {
    const service = serviceOf('brevo');
    const basic = Buffer.from(`any:${service.secret}`).toString('base64');
    const headers = { Authorization: `basic ${basic}` };
    expect(() => check(service, { headers, body: '{}' })).not.toThrow();
  });
});

describe('the words of the services', () => {
  const kindOf = (name: string, event: Record<string, unknown>) => {
    const feedback = read(serviceOf(name), event)?.feedback;
    return bounceTypeOf(feedback) || (feedback?.kind ?? null);
  };
  const postmark = (fields: object) =>
    kindOf('postmark', { Metadata: { 'everpost-email': mail.emailId }, ...fields });
  const mailgun = (data: object) =>
    kindOf('mailgun', {
      'event-data': { 'user-variables': { everpost_email: mail.emailId }, ...data },
    });
  const sendgrid = (fields: object) =>
    kindOf('sendgrid', { everpost_email: mail.emailId, ...fields });
  const brevo = (event: string) => kindOf('brevo', { event, 'X-Mailin-custom': mail.emailId });
  const mailjet = (fields: object) => kindOf('mailjet', { CustomID: mail.emailId, ...fields });
  const resend = (type: string, data: object = {}) =>
    kindOf('resend', {
      type,
      data: { headers: [{ name: 'x-everpost-email', value: mail.emailId }], ...data },
    });

  it.each([
    ['HardBounce', 'Permanent'],
    ['BadEmailAddress', 'Permanent'],
    ['SoftBounce', 'Transient'],
    ['DnsError', 'Transient'],
    ['Blocked', 'Transient'],
    ['SpamNotification', 'Transient'],
    ['DMARCPolicy', 'Transient'],
    ['VirusNotification', 'Transient'],
    ['Transient', 'delayed'],
    ['SMTPApiError', 'rejection'],
    ['ManuallyDeactivated', 'rejection'],
    ['AutoResponder', null],
  ])('for a Postmark bounce of type %s mean %s', (Type, meaning) => {
    expect(postmark({ RecordType: 'Bounce', Type })).toBe(meaning);
  });

  it('for a Postmark subscription mean an opt-out only if the recipient wanted it', () => {
    const change = { RecordType: 'SubscriptionChange', SuppressSending: true, Origin: 'Recipient' };
    expect(postmark(change)).toBe('unsubscribe');
    expect(postmark({ ...change, SuppressSending: false })).toBeNull();
    expect(postmark({ ...change, Origin: 'Customer' })).toBeNull();
    expect(postmark({ ...change, SuppressionReason: 'HardBounce' })).toBeNull();
    expect(postmark({ ...change, SuppressionReason: 'SpamComplaint' })).toBeNull();
  });

  it('for a Mailgun failure depend on severity and reason', () => {
    expect(mailgun({ event: 'failed', severity: 'permanent', reason: 'bounce' })).toBe('Permanent');
    expect(mailgun({ event: 'failed', severity: 'temporary' })).toBe('delayed');
    expect(mailgun({ event: 'failed', reason: 'suppress-unsubscribe' })).toBe('rejection');
    expect(mailgun({ event: 'failed' })).toBeNull();
    expect(mailgun({ event: 'rejected', reject: { reason: 'sandbox' } })).toBe('rejection');
    const code = (given: number | string, more: object = {}) =>
      mailgun({
        event: 'failed',
        severity: 'permanent',
        'delivery-status': { code: given, ...more },
      });
    expect(code(550, { 'enhanced-code': '5.7.26' })).toBe('Transient');
    expect(code(421)).toBe('Transient');
    expect(code(550)).toBe('Permanent');
  });

  it('for a SendGrid bounce depend on its type and status', () => {
    expect(sendgrid({ event: 'bounce', type: 'bounce', status: '5.1.1' })).toBe('Permanent');
    expect(sendgrid({ event: 'bounce', type: 'bounce', status: '5.7.1' })).toBe('Transient');
    expect(sendgrid({ event: 'bounce', type: 'blocked' })).toBe('Transient');
    expect(sendgrid({ event: 'bounce', status: '5.0.0', reason: '550 5.1.1 unknown' })).toBe(
      'Permanent',
    );
    expect(sendgrid({ event: 'group_unsubscribe' })).toBe('unsubscribe');
    expect(sendgrid({ event: 'group_resubscribe' })).toBeNull();
  });

  it.each([
    ['invalid_email', 'Permanent'],
    ['complaint', 'complaint'],
    ['error', 'rejection'],
    ['sent', 'accepted'],
    ['unsubscribe', 'unsubscribe'],
    ['proxy_open', null],
  ])('for a Brevo event %s mean %s', (event, meaning) => {
    expect(brevo(event)).toBe(meaning);
  });

  it('for a Brevo time are read in seconds or milliseconds', () => {
    const event = { event: 'delivered', 'X-Mailin-custom': mail.emailId };
    for (const ts_epoch of [at.getTime(), at.getTime() / 1000]) {
      expect(read(serviceOf('brevo'), { ...event, ts_epoch })?.feedback.at).toEqual(at);
    }
  });

  it('for a Mailjet bounce depend on hard_bounce', () => {
    expect(mailjet({ event: 'bounce', hard_bounce: true })).toBe('Permanent');
    expect(mailjet({ event: 'bounce', hard_bounce: false })).toBe('Transient');
    expect(mailjet({ event: 'bounce' })).toBe('Transient');
  });

  it('for a Resend bounce are its type, or an undetermined one', () => {
    expect(resend('email.bounced', { bounce: { type: 'Permanent' } })).toBe('Permanent');
    expect(resend('email.bounced', { bounce: { type: 'Transient' } })).toBe('Transient');
    expect(resend('email.bounced', { bounce: { type: 'Undetermined' } })).toBe('Undetermined');
    expect(resend('email.bounced')).toBe('Undetermined');
    expect(resend('email.failed', { failed: { reason: 'quota' } })).toBe('rejection');
  });
});

describe('a body', () => {
  it('of more than 10,000 events, or of very many values, is too large', () => {
    const tooLarge = expect.objectContaining({ code: 'PAYLOAD_TOO_LARGE' });
    expect(eventsIn(Buffer.from(JSON.stringify(Array(10_000).fill(1))))).toHaveLength(10_000);
    expect(() => eventsIn(Buffer.from(JSON.stringify(Array(10_001).fill(1))))).toThrow(tooLarge);
    expect(() => eventsIn(Buffer.from(`[${'[],'.repeat(400_000)}1]`))).toThrow(tooLarge);
    expect(() => eventsIn(Buffer.from('['.repeat(2_000) + ']'.repeat(2_000)))).toThrow(tooLarge);
  });

  it('that is no JSON is refused', () => {
    for (const text of ['', '{"event":', 'event=delivered']) {
      expect(() => eventsIn(Buffer.from(text))).toThrow(
        expect.objectContaining({ code: 'INVALID_REQUEST_BODY' }),
      );
    }
  });
});

describe('the headers of outgoing mail', () => {
  it('name the mail as each service wants it', () => {
    const id = mail.emailId;
    const lines = webhookServices.map((name) => {
      const { idHeader } = adapterOf(name)!;
      return idHeader && `${idHeader.name}: ${idHeader.valueOf(id)}`;
    });
    expect(lines).toEqual([
      `X-PM-Metadata-everpost-email: ${id}`,
      `X-Mailgun-Variables: {"everpost_email":"${id}"}`,
      `X-SMTPAPI: {"unique_args": {"everpost_email": "${id}"}}`,
      `X-Mailin-custom: ${id}`,
      `X-MJ-CustomID: ${id}`,
      null,
    ]);
  });
});
