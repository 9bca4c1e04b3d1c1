import { randomUUID } from 'node:crypto';
import MailComposer from 'nodemailer/lib/mail-composer';
import { describe, expect, it } from 'vitest';
import { insertMailboxMessage } from '../../../db/emails/mailbox.ts';
import { useApi } from '../../support/api.ts';

const api = await useApi();

const picture = Buffer.from('R0lGODlhAQABAAAAACw=', 'base64');

async function deliver(mail: Record<string, unknown> = {}): Promise<{ id: string; to: string }> {
  const id = randomUUID();
  const to = `${id}@contacts.test`;
  const subject = (mail['subject'] as string | undefined) ?? 'Grüße';
  const raw = await new MailComposer({
    from: '"The shop" <hello@shop.test>',
    to,
    subject,
    html: '<p>Hello <b>Ada</b></p>',
    text: 'Hello Ada',
    ...mail,
  })
    .compile()
    .build();
  await insertMailboxMessage(api.db, {
    id,
    sender: 'hello@shop.test',
    recipient: to,
    subject,
    raw,
  });
  return { id, to };
}
const list = (query = '', headers: Record<string, string> = {}) =>
  api.request('GET', `/local/mailbox${query}`, { headers });

describe('GET /local/mailbox', () => {
  it('answers the mails newest first, without their content', async () => {
    const [first, second] = [await deliver(), await deliver()];
    const { status, body } = await list();
    expect(status).toBe(200);
    expect(body[0]).toEqual({
      id: second.id,
      from: 'hello@shop.test',
      to: second.to,
      subject: 'Grüße',
      receivedAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
    });
    expect(body[1].id).toBe(first.id);
  });

  it('finds the mails to one address in any case, and none to a part of it', async () => {
    const { id, to } = await deliver();
    for (const spelling of [to, to.toUpperCase(), ` ${to} `]) {
      const { body } = await list(`?to=${encodeURIComponent(spelling)}`);
      expect(body.map((mail: { id: string }) => mail.id)).toEqual([id]);
    }
    expect((await list(`?to=${to.slice(1)}`)).body).toEqual([]);
  });

  it('answers as many as asked, 1 to 100', async () => {
    await deliver();
    await deliver();
    expect((await list('?limit=1')).body).toHaveLength(1);
    for (const limit of ['0', '101', 'x']) {
      const { status, body } = await list(`?limit=${limit}`);
      expect([status, body.error.errors[0].field]).toEqual([422, 'limit']);
    }
  });

  it('keeps the newest thousand', async () => {
    const raw = Buffer.from('Subject: x\r\n\r\n');
    const mail = (recipient: string) => ({
      id: randomUUID(),
      sender: 'a@b.test',
      recipient,
      subject: 'x',
      raw,
    });
    await insertMailboxMessage(api.db, mail('oldest@contacts.test'));
    for (let page = 0; page < 20; page += 1) {
      await Promise.all(
        Array.from({ length: 50 }, () => insertMailboxMessage(api.db, mail('later@contacts.test'))),
      );
    }
    await insertMailboxMessage(api.db, mail('newest@contacts.test'));
    const { count } = await api.db
      .selectFrom('mailbox_message')
      .select((row) => row.fn.countAll<string>().as('count'))
      .executeTakeFirstOrThrow();
    expect(Number(count)).toBe(1000);
    expect((await list('?to=oldest@contacts.test')).body).toEqual([]);
    expect((await list('?to=newest@contacts.test')).body).toHaveLength(1);
  });

  it('stores a mail that comes twice once', async () => {
    const { id, to } = await deliver();
    const again = { id, sender: 'other@shop.test', recipient: to, subject: 'x', raw: Buffer.of() };
    await insertMailboxMessage(api.db, again);
    expect((await list(`?to=${to}`)).body).toMatchObject([{ from: 'hello@shop.test' }]);
  });
});

describe('GET /local/mailbox/{id}', () => {
  it('answers headers, html, text, attachments and the raw mail', async () => {
    const { id, to } = await deliver({
      headers: [
        { key: 'X-Shop', value: 'one' },
        { key: 'X-Shop', value: 'two' },
      ],
      attachments: [{ filename: 'a.gif', content: picture, contentType: 'image/gif' }],
    });
    const { status, body } = await api.request('GET', `/local/mailbox/${id}`);
    expect(status).toBe(200);
    expect(Object.keys(body).toSorted()).toEqual(
      [
        'id',
        'from',
        'to',
        'subject',
        'receivedAt',
        'headers',
        'html',
        'text',
        'attachments',
        'raw',
      ].toSorted(),
    );
    expect(body).toMatchObject({
      id,
      from: 'hello@shop.test',
      to,
      subject: 'Grüße',
      headers: { subject: 'Grüße', to, 'x-shop': ['one', 'two'] },
      attachments: [{ filename: 'a.gif', contentType: 'image/gif', size: picture.length }],
    });
    expect(body.html.trim()).toBe('<p>Hello <b>Ada</b></p>');
    expect(body.text.trim()).toBe('Hello Ada');
    expect(body.raw).toContain('X-Shop: one\r\n');
  });

  it('answers null for the part a mail does not have', async () => {
    const { id } = await deliver({ html: undefined });
    const { body } = await api.request('GET', `/local/mailbox/${id}`);
    expect([body.html, body.text.trim()]).toEqual([null, 'Hello Ada']);
  });

  it.each(['x', randomUUID()])('answers 404 EMAIL_NOT_FOUND for %s', async (id) => {
    const { status, body } = await api.request('GET', `/local/mailbox/${id}`);
    expect([status, body.error.code]).toEqual([404, 'EMAIL_NOT_FOUND']);
    expect(body.error.details).toEqual({ resource: 'email', id });
  });
});

describe('the page', () => {
  const open = (query = '') => list(query, { Accept: 'text/html,application/xhtml+xml,*/*;q=0.8' });

  it('is what a browser gets, and JSON what others get', async () => {
    const page = await open();
    expect(page.headers.get('content-type')).toBe('text/html; charset=utf-8');
    const json = await list();
    expect(json.headers.get('content-type')).toBe('application/json; charset=utf-8');
    for (const { headers } of [page, json]) expect(headers.get('vary')).toContain('Accept');
  });

  it('lists the mails and shows the newest, or the chosen one', async () => {
    const chosen = await deliver({ subject: 'The chosen' });
    const newest = await deliver({ subject: 'The newest' });
    const first = (await open()).body as string;
    expect(first).toContain(`<title>The newest`);
    expect(first).toContain(`?mail=${chosen.id}`);
    const second = (await open(`?mail=${chosen.id}`)).body as string;
    expect(second).toContain('<title>The chosen');
    expect(second).toContain(`href="/local/mailbox?mail=${chosen.id}" aria-current="true"`);
    expect(second).toContain(newest.to);
  });

  it('shows the HTML of a mail in a frame that may do nothing, and loads nothing itself', async () => {
    const { id } = await deliver({ html: '<p id="x">Hi</p><script>alert(1)</script>' });
    const { headers, body } = await open(`?mail=${id}`);
    expect(body).toContain('sandbox=""');
    expect(body).toContain('srcdoc="&lt;p id=&quot;x&quot;&gt;Hi&lt;/p&gt;&lt;script&gt;');
    expect(body).not.toMatch(/<script|<link|src="/i);
    expect(headers.get('content-security-policy')).toContain("default-src 'none'");
  });

  it('escapes all that a mail brings', async () => {
    const bad = '"><img src=x onerror=alert(1)>';
    const { id } = await deliver({
      subject: bad,
      text: bad,
      html: bad,
      headers: { 'X-Bad': bad },
      attachments: [{ filename: bad, content: 'x' }],
    });
    const { body } = await open(`?mail=${id}&to=${encodeURIComponent(bad)}`);
    expect(body).not.toContain('<img');
  });

  it('shows pictures that travel in the mail', async () => {
    const { id } = await deliver({
      html: '<img src="cid:logo@shop">',
      attachments: [
        { filename: 'a.gif', content: picture, cid: 'logo@shop', contentType: 'image/gif' },
      ],
    });
    const { body } = await open(`?mail=${id}`);
    expect(body).toContain(`data:image/gif;base64,${picture.toString('base64')}`);
  });

  it('says so when there is no mail', async () => {
    expect((await open('?to=nobody@contacts.test')).body).toContain(
      'No mail to nobody@contacts.test.',
    );
    const empty = await useApi();
    const { body } = await empty.request('GET', '/local/mailbox', {
      headers: { Accept: 'text/html' },
    });
    expect(body).toContain('No mail yet.');
  });
});
