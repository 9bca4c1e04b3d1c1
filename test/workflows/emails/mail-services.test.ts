import { sql } from 'kysely';
import PostalMime from 'postal-mime';
import { describe, expect, it } from 'vitest';
import type { WebhookService } from '../../../domain/provider/provider.ts';
import { useEngine } from '../../support/engine.ts';
import type { EventKind, FakeMailService } from '../../support/fakes/mail-service.ts';
import { fakeMailServices } from '../../support/fakes/mail-services.ts';
import { type AnswerTo, useSmtpPeer } from '../../support/fakes/smtp-peer.ts';
import { newRoutedShop } from '../../support/projects/routed-shop.ts';
import { waitFor } from '../../support/wait-for.ts';

/**
 * Mail through services that take it by SMTP and report by webhooks. They know our id of a mail
 * only from the header that is theirs.
 */

const engine = await useEngine({
  EMAIL_RATE_LIMIT_PER_SECOND: '0',
  EMAIL_RATE_PER_PROJECT_PER_SECOND: '0',
});

/** Returns our id as a service finds it in the headers of a message. */
const idIn: Record<WebhookService, (header: (name: string) => string) => unknown> = {
  postmark: (header) => header('x-pm-metadata-everpost-email'),
  mailgun: (header) => JSON.parse(header('x-mailgun-variables')).everpost_email,
  sendgrid: (header) => JSON.parse(header('x-smtpapi')).unique_args.everpost_email,
  brevo: (header) => header('x-mailin-custom'),
  mailjet: (header) => header('x-mj-customid'),
  resend: (header) => header('x-everpost-email'),
};

/** A shop whose mail leaves by a service. */
async function useService(service: FakeMailService, answer?: AnswerTo) {
  const { feedback, secret: feedbackSecret } = service;
  const shop = await newRoutedShop(engine);
  const server = await useSmtpPeer(answer);
  const { body: provider } = await shop.call('POST', '/providers', {
    name: feedback,
    kind: 'smtp',
    host: '127.0.0.1',
    port: server.port,
    security: 'none',
    feedback,
    feedbackSecret,
  });
  await shop.setRoutes(shop.route([provider.id]));
  const path = (provider.feedbackUrl as string).replace(engine.api.url, '');
  return {
    shop,
    server,
    providerId: provider.id as string,
    /** Reports on a message that the server got. */
    async report(kind: EventKind, message: string) {
      const { headers, to } = await PostalMime.parse(message);
      const header = (name: string) => {
        const found = headers.filter(({ key }) => key === name);
        expect([name, found.length]).toEqual([name, 1]);
        return found[0]!.value;
      };
      const emailId = String(idIn[feedback](header));
      const event = service.events[kind]!({ emailId, to: to![0]!.address! });
      const { body } = await engine.api.request('POST', path, service.request(event));
      return body;
    },
  };
}

describe.each(fakeMailServices.map((service) => [service.feedback, service] as const))(
  'mail through %s',
  (_, service) => {
    it('is delivered when the service says so', async () => {
      const { shop, server, providerId, report } = await useService(service);
      const own = { 'X-SMTPAPI': '{"category": "own"}', 'X-MJ-CustomID': 'own', 'X-Own': 'kept' };
      const id = await shop.send({ headers: own });
      const sent = await shop.readIn(id, 'SENT');
      expect(sent).toMatchObject({ providerId, deliveredAt: null });
      expect(server.messages[0]).toContain('X-Own: kept');
      expect(await report('delivered', server.messages[0]!)).toMatchObject({ applied: 1 });
      const email = await shop.read(id);
      expect(email).toMatchObject({ status: 'DELIVERED', error: null });
      expect(email['trace'].at(-1)).toMatchObject({
        state: 'delivered',
        detail: { source: 'webhook' },
      });
    });

    it('with an unknown outcome is settled by the report of the service', async () => {
      const drops: AnswerTo = (command) => (command === '.' ? 'reset' : undefined);
      const { shop, server, report } = await useService(service, drops);
      const id = await shop.send();
      const lastState = async () => (await shop.read(id))['trace'].at(-1).state;
      await waitFor('the unknown outcome', async () => (await lastState()) === 'uncertain');
      expect((await shop.read(id))['status']).toBe('SENDING');
      expect(await report('delivered', server.messages[0]!)).toMatchObject({ applied: 1 });
      const email = await shop.read(id);
      expect(email).toMatchObject({ status: 'DELIVERED', error: null });
      expect(email['sentAt']).not.toBeNull();
    });
  },
);

it('an address that bounced at one service gets no mail by any other', async () => {
  const { shop, server, report } = await useService(fakeMailServices[0]!);
  await sql`update project set bounce_scope = 'all' where id = ${shop.projectId}`.execute(
    engine.api.db,
  );
  const to = 'gone@people.test';
  await shop.readIn(await shop.send({ to }), 'SENT');
  await report('permanent', server.messages[0]!);
  const { body: list } = await shop.call('GET', '/suppression-list');
  expect(list.data).toMatchObject([{ email: to, reason: 'hard_bounce' }]);
  const home = await useSmtpPeer();
  await shop.setRoutes(shop.route([await shop.add('Other', home)]));
  const second = await shop.readIn(await shop.send({ to }), 'FAILED');
  expect([second['error'], home.accepted]).toEqual(['suppressed', []]);
});
