import { randomUUID } from 'node:crypto';
import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import { optOutLanguages } from '../../../domain/mail/opt-out-texts.ts';
import { useApi } from '../../support/api.ts';
import { insertTestCampaign, insertTestEmail } from '../../support/projects/mails.ts';

const api = await useApi({ RATE_LIMIT_ENABLED: 'true', RATE_LIMIT_IP_PER_MINUTE: '1000' });
const project = await api.createProject((await api.signUp()).cookie, 'My <shop> {address}');

async function createContact(data: Record<string, unknown> = {}): Promise<string> {
  const body = { email: `${randomUUID()}@x.example`, data };
  const made = await api.request('POST', '/contacts', { key: project.secretKey, body });
  return made.body.id as string;
}

async function isSubscribed(id: string): Promise<boolean> {
  const { body } = await api.request('GET', `/contacts/${id}`, { key: project.secretKey });
  return body.subscribed as boolean;
}

async function sourcesOf(id: string): Promise<unknown[]> {
  const rows = await api.db
    .selectFrom('event')
    .select(['name', sql<string>`data ->> 'source'`.as('source')])
    .where('contact_id', '=', id)
    .execute();
  return rows.map(({ name, source }) => `${name} ${source}`);
}

const form = { 'Content-Type': 'application/x-www-form-urlencoded' };
const oneClick = { body: 'List-Unsubscribe=One-Click', headers: form };

describe('opening a page', () => {
  it.each(['unsubscribe', 'subscribe', 'manage'])(
    '%s shows a button and changes nothing',
    async (page) => {
      const id = await createContact({ secret: 'not to be seen' });
      const before = await isSubscribed(id);
      const { status, headers, body } = await api.request(
        'GET',
        `/${page}/${id}?e=${randomUUID()}`,
      );
      expect(status).toBe(200);
      expect(headers.get('content-type')).toBe('text/html; charset=utf-8');
      expect(body).toMatch(/<form method="post" action="\/(un)?subscribe\/.+"><button>/);
      expect(body).toMatch(/[0-9a-f]…@x\.example/);
      expect(body).toContain('the mailing list of My &lt;shop&gt; {address}');
      expect(body).not.toMatch(/[0-9a-f]{2}@x\.example|not to be seen|<script/);
      expect(await isSubscribed(id)).toBe(before);
    },
  );

  it('keeps the page out of frames, caches, search engines and other hosts', async () => {
    const { headers } = await api.request('GET', `/unsubscribe/${await createContact()}`);
    const policy = headers.get('content-security-policy')!;
    for (const rule of ["default-src 'none'", "form-action 'self'", "frame-ancestors 'none'"]) {
      expect(policy).toContain(rule);
    }
    expect(policy).not.toContain('unsafe');
    expect(headers.get('x-robots-tag')).toBe('noindex, nofollow');
    expect(headers.get('referrer-policy')).toBe('no-referrer');
    expect(headers.get('cache-control')).toBe('no-store');
    expect(headers.get('x-content-type-options')).toBe('nosniff');
  });

  it.each(optOutLanguages)('speaks %s when the contact does', async (language) => {
    const id = await createContact({ locale: `${language}-XX` });
    for (const page of ['unsubscribe', 'subscribe', 'manage']) {
      const { body } = await api.request('GET', `/${page}/${id}`);
      expect(body).toContain(`<html lang="${language}">`);
      expect(body).toContain('My &lt;shop&gt; {address}');
    }
    const titles = await Promise.all(
      ['en', language].map(async (locale) => {
        const contact = await createContact({ locale });
        const { body } = await api.request('GET', `/manage/${contact}`);
        return /<title>(.*)<\/title>/.exec(body as string)![1];
      }),
    );
    expect(titles[0] === titles[1]).toBe(language === 'en');
  });

  it('speaks English where it does not know the language', async () => {
    const id = await createContact({ locale: 'xx' });
    expect((await api.request('GET', `/manage/${id}`)).body).toContain('<html lang="en">');
  });

  it('offers on the manage page what is not the case', async () => {
    const id = await createContact();
    const action = async () => {
      const { body } = await api.request('GET', `/manage/${id}`);
      return /action="([^"]+)"/.exec(body as string)![1];
    };
    expect(await action()).toBe(`/unsubscribe/${id}`);
    await api.request('POST', `/unsubscribe/${id}`, { body: '', headers: form });
    expect(await action()).toBe(`/subscribe/${id}`);
  });

  it.each(['manage/x', 'unsubscribe/%00', 'subscribe/%zz', `manage/${randomUUID()}`, 'manage/%22'])(
    'answers /%s with a 404 page',
    async (path) => {
      const { status, headers, body } = await api.request('GET', `/${path}`, {
        headers: { 'Accept-Language': 'fr-CH, fr;q=0.9, en;q=0.8' },
      });
      expect([status, headers.get('content-type')]).toEqual([404, 'text/html; charset=utf-8']);
      expect(body).toContain('<html lang="fr">');
    },
  );
});

describe('POST /unsubscribe/{contactId}', () => {
  it('unsubscribes with one click (RFC 8058) and answers plain text', async () => {
    const id = await createContact();
    for (const _ of [1, 2]) {
      const { status, headers } = await api.request('POST', `/unsubscribe/${id}`, oneClick);
      expect([status, headers.get('content-type')]).toEqual([200, 'text/plain; charset=utf-8']);
    }
    expect(await isSubscribed(id)).toBe(false);
    expect(await sourcesOf(id)).toEqual(['contact.unsubscribed one_click']);
  });

  it('takes the one click as multipart, too', async () => {
    const id = await createContact();
    const body = [
      '--b',
      'Content-Disposition: form-data; name="List-Unsubscribe"',
      '',
      'One-Click',
      '--b--',
      '',
    ].join('\r\n');
    const headers = { 'Content-Type': 'multipart/form-data; boundary=b' };
    await api.request('POST', `/unsubscribe/${id}`, { body, headers });
    expect(await sourcesOf(id)).toEqual(['contact.unsubscribed one_click']);
  });

  it('unsubscribes by the form of the page and answers a page', async () => {
    const id = await createContact();
    const { status, headers, body } = await api.request('POST', `/unsubscribe/${id}`, {
      body: '',
      headers: form,
    });
    expect([status, headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8']);
    expect(body).toContain('You are unsubscribed');
    expect(await sourcesOf(id)).toEqual(['contact.unsubscribed public_page']);
  });

  it('answers 200 whatever the id, the body and its type are', async () => {
    for (const id of [randomUUID(), 'x', '%00', '%zz', '%F0%9F%98%80']) {
      for (const request of [
        oneClick,
        {},
        { body: '{"a":' },
        { body: 'x', headers: { 'Content-Type': 'image/png' } },
      ]) {
        expect((await api.request('POST', `/unsubscribe/${id}`, request)).status).toBe(200);
      }
    }
  });

  it('is never limited', async () => {
    const { headers } = await api.request('POST', `/unsubscribe/${randomUUID()}`, oneClick);
    expect(headers.get('ratelimit-limit')).toBeNull();
  });

  it('counts for the campaign of the email in the link', async () => {
    const id = await createContact();
    const campaignId = await insertTestCampaign(api.db, project.id);
    const given = { projectId: project.id, contactId: id, campaignId };
    const emailId = await insertTestEmail(api.db, given, { body: null });
    await api.request('POST', `/unsubscribe/${id}?e=${emailId}`, oneClick);
    await api.request('POST', `/unsubscribe/${id}?e=${emailId}`, oneClick);
    const { unsubscribed_count: count } = await api.db
      .selectFrom('campaign')
      .select('unsubscribed_count')
      .where('id', '=', campaignId)
      .executeTakeFirstOrThrow();
    expect(count).toBe(1);
  });

  it('works in a disabled project', async () => {
    const id = await createContact();
    await sql`update project set disabled_reason = 'MANUAL' where id = ${project.id}`.execute(
      api.db,
    );
    expect((await api.request('GET', `/unsubscribe/${id}`)).status).toBe(200);
    await api.request('POST', `/unsubscribe/${id}`, oneClick);
    await sql`update project set disabled_reason = null where id = ${project.id}`.execute(api.db);
    expect(await isSubscribed(id)).toBe(false);
  });
});

describe('POST /subscribe/{contactId}', () => {
  it('subscribes by the form of the page', async () => {
    const id = await createContact();
    await api.request('POST', `/unsubscribe/${id}`, oneClick);
    const { status, body } = await api.request('POST', `/subscribe/${id}`, { headers: form });
    expect(status).toBe(200);
    expect(body).toContain('You are subscribed');
    expect(await isSubscribed(id)).toBe(true);
  });

  it.each(['x', randomUUID(), '%00'])('answers %s with a 404 page', async (id) => {
    const { status, headers } = await api.request('POST', `/subscribe/${id}`, { headers: form });
    expect([status, headers.get('content-type')]).toEqual([404, 'text/html; charset=utf-8']);
  });
});
