import { describe, expect, it } from 'vitest';
import { listEmails } from '../../../db/emails/records.ts';
import { insertTestEmail } from '../../support/projects/mails.ts';
import { newAddress, refusal, useShop } from '../../support/projects/shop.ts';

/** Rendered bodies have a size limit, and so have lists that contain bodies. */

const shop = await useShop();

const twoMegabytes = 2 * 1024 * 1024;

describe('a rendered body', () => {
  it('of 2 MB is taken, of one byte more refused with 413 MESSAGE_TOO_LARGE', async () => {
    const [to, other] = [newAddress(), newAddress()];
    expect((await shop.send({ to, body: 'é'.repeat(twoMegabytes / 2) })).status).toBe(200);
    const refused = await shop.send({ to: other, body: 'é'.repeat(twoMegabytes / 2) + '.' });
    expect(refusal(refused)).toEqual([413, 'MESSAGE_TOO_LARGE']);
    expect([await shop.emailsTo(other), await shop.contact(other)]).toEqual([[], undefined]);
  });

  it('counts as it is rendered, not as it is sent; those before it have their mail', async () => {
    const to = [newAddress(), newAddress()];
    await shop.call('POST', '/contacts', { email: to[1], data: { about: 'x'.repeat(30_000) } });
    const body = '{{about}}'.repeat(100);
    const refused = await shop.send({ to, body });
    expect(refusal(refused)).toEqual([413, 'MESSAGE_TOO_LARGE']);
    expect(refused.body.error.details.emails).toHaveLength(1);
    expect(await shop.emailsTo(to[1]!)).toEqual([]);
  });
});

describe('a list of mail', () => {
  it('is read without any body, and says only whether there is one', async () => {
    const [to, key] = [newAddress(), shop.project.id];
    await shop.send({ to, body: 'Kept' });
    await shop.send({ to, body: 'Removed' });
    const { db } = shop.api;
    await db.updateTable('email').set({ body: null }).where('body', '=', 'Removed').execute();
    const contactId = (await shop.contact(to))!.id;
    const { rows } = await listEmails(db, key, { contactId, limit: 10 });
    expect(rows.map((row) => row.has_body)).toEqual([false, true]);
    const columns = Object.keys(rows[0]!);
    for (const large of ['body', 'body_values', 'body_template', 'trace']) {
      expect(columns).not.toContain(large);
    }
  });
});

describe('the activity feed', () => {
  it('ends a page where the bodies on it become too many, and goes on with the next', async () => {
    const email = newAddress();
    const { body: contact } = await shop.call('POST', '/contacts', { email });
    const { db } = shop.api;
    for (let minute = 0; minute < 10; minute += 1) {
      const given = { projectId: shop.project.id, contactId: contact.id };
      await insertTestEmail(db, given, {
        body: String(minute).repeat(twoMegabytes),
        sent_at: new Date(Date.now() - minute * 60_000),
      });
    }
    const seen: string[] = [];
    const pages: number[] = [];
    let cursor: string | undefined;
    do {
      const query: string = `contactId=${contact.id}${cursor ? `&cursor=${cursor}` : ''}`;
      const { status, body } = await shop.call('GET', `/activity?${query}&types=email.sent`);
      expect(status).toBe(200);
      pages.push(body.data.length);
      seen.push(...body.data.map((item: { metadata: { body: string } }) => item.metadata.body[0]));
      cursor = body.cursor;
    } while (cursor);
    expect(pages).toEqual([4, 4, 2]);
    expect(seen.join('')).toBe('0123456789');
  });
});
