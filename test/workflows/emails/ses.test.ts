import { randomUUID } from 'node:crypto';
import { beforeEach, describe, expect, it } from 'vitest';
import { useEngine } from '../../support/engine.ts';
import {
  type SesFault,
  sesThrottled,
  sesUnavailable,
  useFakeSes,
} from '../../support/fakes/ses.ts';
import { sweepNow } from '../../support/sweep-now.ts';
import { waitFor } from '../../support/wait-for.ts';

const ses = await useFakeSes();
const engine = await useEngine({
  AWS_SES_REGION: 'eu-west-1',
  AWS_SES_ACCESS_KEY_ID: 'id',
  AWS_SES_SECRET_ACCESS_KEY: 'secret',
  AWS_SES_ENDPOINT: ses.endpoint,
  EMAIL_RATE_LIMIT_PER_SECOND: '200',
  EMAIL_RATE_PER_PROJECT_PER_SECOND: '200',
  DELIVERY_SETTLE_MINUTES: '0',
});
await engine.api.db
  .updateTable('domain')
  .set({ status: 'verified', next_check_at: null })
  .where('name', '=', engine.domain)
  .execute();
beforeEach(() => {
  ses.next = [];
  ses.always = null;
  ses.delayMs = 0;
});

/** Sends mails to new addresses. Returns their ids. */
async function send(count = 1): Promise<string[]> {
  const to = Array.from({ length: count }, () => `${randomUUID()}@people.test`);
  const mail = { to, from: `team@${engine.domain}`, subject: 'Hello', body: '<p>Hello</p>' };
  const { body } = await engine.call('POST', '/v1/send', mail);
  return body.data.emails.map(({ email }: { email: string }) => email);
}

const rowOf = (id: string) =>
  engine.api.db.selectFrom('email').selectAll().where('id', '=', id).executeTakeFirstOrThrow();

const mailIn = (id: string, status: string) =>
  waitFor(`mail ${status}`, async () => {
    const row = await rowOf(id);
    return row.status === status ? row : null;
  });

describe('SES', () => {
  it.each<[string, SesFault[]]>([
    ['is not available twice', [sesUnavailable, sesUnavailable]],
    ['throttles', [sesThrottled]],
  ])('that %s and then accepts gets one mail, which is SENT', async (_name, faults) => {
    ses.next = [...faults];
    const [id = ''] = await send();
    const row = await mailIn(id, 'SENT');
    expect(row.message_id).toBe(ses.emails.at(-1)?.messageId);
    expect([row.error, row.delivered_at]).toEqual([null, null]);
    expect(ses.countOf(id)).toBe(1);
  });

  it('that refuses a message is not asked again', async () => {
    ses.next = [{ status: 400, type: 'MessageRejected', message: 'Address is on a list.' }];
    const before = ses.requests;
    const [id = ''] = await send();
    const row = await mailIn(id, 'FAILED');
    expect(row.error).toBe('MessageRejected (400): Address is on a list.');
    expect(ses.requests).toBe(before + 1);
  });

  it.each<SesFault>(['accept-then-drop', 'accept-then-cut'])(
    'whose answer is lost is not asked again, and the mail fails as unknown: %s',
    async (fault) => {
      ses.next = [fault];
      const [id = ''] = await send();
      await mailIn(id, 'SENDING');
      await waitFor('the mail at SES', () => ses.countOf(id) === 1);
      await waitFor('the end of the lease', async () => {
        await sweepNow(engine);
        return (await rowOf(id)).status === 'FAILED';
      });
      expect((await rowOf(id)).error).toBe('delivery_unknown');
      expect(ses.countOf(id)).toBe(1);
    },
  );

  it('that is slow gets every mail once', async () => {
    ses.delayMs = 300;
    const ids = await send(40);
    for (const id of ids) await mailIn(id, 'SENT');
    expect(ids.map((id) => ses.countOf(id))).toEqual(ids.map(() => 1));
  });
});
