import { MockActivityEnvironment } from '@temporalio/testing';
import { expect, it } from 'vitest';
import { createFeedbackMailboxActivities } from '../../../activities/mail/feedback-mailbox.ts';
import { createFeedbackMailbox } from '../../../providers/mail/feedback-mailbox.ts';
import { useApi } from '../../support/api.ts';
import { useImapServer } from '../../support/fakes/imap-server.ts';
import { deliveryStatus } from '../../support/fakes/reports.ts';
import { insertTestEmail } from '../../support/projects/mails.ts';

/** The order in which the messages of the mailbox are taken. */

const domain = 'bounces.everpost.test';
const [api, imap] = [
  await useApi({ RETURN_PATH_DOMAIN: domain }),
  await useImapServer('reports', 'imap secret'),
];
const { db } = api;
const { cookie } = await api.signUp();
const mailbox = createFeedbackMailbox({
  host: '127.0.0.1',
  port: imap.port,
  secure: false,
  user: 'reports',
  password: 'imap secret',
  mailbox: 'INBOX',
  moveTo: null,
});

/** Sends a mail, and delivers a bounce of it to the mailbox. Returns the id of the project. */
async function deliverBounces(count: number): Promise<string> {
  const { id: projectId } = await api.createProject(cookie);
  for (let n = 0; n < count; n += 1) {
    const to = `no${n}@people.test`;
    const { id: contactId } = await db
      .insertInto('contact')
      .values({ project_id: projectId, email: to, subscribed: true })
      .returning('id')
      .executeTakeFirstOrThrow();
    const emailId = await insertTestEmail(db, { projectId, contactId });
    const returnPath = api.services.returnPaths.pathAt(emailId, domain);
    imap.deliver(deliveryStatus({ emailId, to, returnPath }));
  }
  return projectId;
}

it('takes the messages of projects in turn, also if those of one came first', async () => {
  const [many, few] = [await deliverBounces(20), await deliverBounces(2)];
  const { READ_FEEDBACK_MAILBOX } = createFeedbackMailboxActivities({
    db,
    log: api.services.log,
    returnPaths: api.services.returnPaths,
    feedbackMailbox: { mailbox, everyMs: 60_000 },
    judge: null,
    isUnreported: () => false,
  });
  const read = await new MockActivityEnvironment().run(READ_FEEDBACK_MAILBOX);
  expect(read).toEqual({ taken: 22, error: null, nextMs: 60_000 });
  const events = await db
    .selectFrom('event')
    .select('project_id')
    .where('name', '=', 'email.bounce')
    .orderBy('recorded_at')
    .orderBy('id')
    .execute();
  const order = events.map(({ project_id }) => project_id);
  expect(order.slice(0, 5)).toEqual([many, few, many, few, many]);
  expect(order).toHaveLength(22);
});
