import { sql } from 'kysely';
import { beforeEach, describe, expect, it } from 'vitest';
import { pro, useCampaignShop } from '../../support/projects/campaign-shop.ts';
import { newAddress, refusal } from '../../support/projects/shop.ts';
import { dropContacts } from '../../support/mail-tables.ts';

/** Campaigns that are sent at a local time of each contact, as the API accepts them. */

const { shop, made } = await useCampaignShop();
const send = (id: string, body: object) => shop.call('POST', `/campaigns/${id}/send`, body);

/** Returns the wall time that UTC will show in so many milliseconds. */
const utcIn = (ms: number) => new Date(Date.now() + ms).toISOString().slice(0, 19);
const hourMs = 3_600_000;

/** Replaces all contacts by contacts with these data. */
async function contactsIn(...data: object[]) {
  await dropContacts(shop.api.db);
  for (const one of data) await shop.call('POST', '/contacts', { email: newAddress(), data: one });
}
beforeEach(async () => {
  await contactsIn({ timeZone: 'Europe/Berlin' });
  const policy = { timeZone: 'UTC', contactTimeZoneField: 'data.timeZone' };
  await shop.call('PUT', '/send-policy', policy);
});

describe('POST /campaigns/{id}/send with localTime', () => {
  it('schedules for the moment at which the clock of the contact shows it', async () => {
    const { id } = await made();
    for (const [localTime, at] of [
      ['2027-03-28T02:30', '2027-03-28T01:00:00.000Z'],
      ['2027-10-31T02:30', '2027-10-31T00:30:00.000Z'],
      ['2027-07-01T09:00:30', '2027-07-01T07:00:30.000Z'],
    ]) {
      const { status, body } = await send(id, { localTime });
      expect([status, body.message]).toEqual([200, 'The campaign is scheduled.']);
      const answered = { scheduledFor: at, scheduledAt: at, localTime, late: 'send' };
      expect(body.data).toMatchObject({ status: 'SCHEDULED', ...answered });
    }
    expect(shop.api.dispatched.at(-1)).toBe(`campaign-${id}`);
    expect(
      (await send(id, { localTime: '2027-07-01T09:00', late: 'skip' })).body.data,
    ).toMatchObject({
      late: 'skip',
    });
  });

  it.each([
    [{ localTime: '2026-02-30T09:00' }, 'localTime invalid_date'],
    [{ localTime: '2027-03-28T02:30Z' }, 'localTime invalid_date'],
    [{ localTime: '2027-03-28T02:30+01:00' }, 'localTime invalid_date'],
    [{ localTime: '2027-03-28' }, 'localTime invalid_date'],
    [{ localTime: 1 }, 'localTime invalid_type'],
    [{ localTime: '2027-03-28T02:30', scheduledFor: '2027-03-28T02:30:00Z' }, 'localTime custom'],
    [{ localTime: '2027-03-28T02:30', scheduledAt: 2e12 }, 'localTime custom'],
    [{ localTime: '2999-01-01T00:00' }, 'localTime too_big'],
    [{ localTime: '2027-03-28T02:30', late: 'never' }, 'late invalid_enum_value'],
    [{ localTime: '2027-03-28T02:30', late: 1 }, 'late invalid_enum_value'],
  ])('refuses %j with 422 %s', async (body, fault) => {
    const { id } = await made();
    expect(refusal(await send(id, body))).toEqual([422, 'VALIDATION_ERROR', fault]);
  });

  it('measures how far it is ahead in the zone of the project', async () => {
    const { id } = await made();
    await shop.call('PUT', '/send-policy', { timeZone: 'Etc/GMT-14' });
    await contactsIn({ timeZone: 'Etc/GMT+12' });
    const day = 24 * hourMs;
    // The earliest possible time of all zones; in the zone of the contact it is 26 hours later.
    expect((await send(id, { localTime: utcIn(730 * day + 13 * hourMs) })).status).toBe(200);
    expect(refusal(await send(id, { localTime: utcIn(730 * day + 15 * hourMs) }))).toEqual([
      422,
      'VALIDATION_ERROR',
      'localTime too_big',
    ]);
  });

  it('takes null for nothing, and late for nothing without it', async () => {
    for (const body of [{ localTime: null, late: 'skip' }, { late: ['whatever'] }]) {
      const { id } = await made();
      const { status, body: answer } = await send(id, body);
      expect(status).toBe(200);
      expect(answer.data).toMatchObject({ status: 'SENDING', localTime: null, late: null });
    }
  });

  it('begins at the earliest moment ahead, of those who would get it', async () => {
    await contactsIn(
      { timeZone: 'etc/gmt+3', plan: 'pro' },
      { timeZone: 'Etc/GMT+2', plan: 'pro' },
      { timeZone: 'Etc/GMT+1', plan: 'free' },
      // Two contacts have no zone, so they use that of the project, UTC.
      { timeZone: 'nonsense', plan: 'free' },
      { timeZone: ['Etc/GMT-1'], plan: 'free' },
    );
    const localTime = utcIn(hourMs);
    const at = (hours: number) =>
      new Date(Date.parse(`${localTime}Z`) + hours * hourMs).toISOString();
    const filtered = await made({ audienceType: 'FILTERED', audienceFilter: pro });
    expect((await send(filtered.id, { localTime })).body.data).toMatchObject({
      scheduledFor: at(2),
      totalRecipients: 2,
    });
    const all = await made();
    expect((await send(all.id, { localTime })).body.data).toMatchObject({
      scheduledFor: at(0),
      totalRecipients: 5,
    });
    // All contacts are in the zone of the project.
    await shop.call('PUT', '/send-policy', { timeZone: 'Etc/GMT+5', contactTimeZoneField: null });
    expect((await send(all.id, { localTime })).body.data).toMatchObject({ scheduledFor: at(5) });
    await shop.call('PUT', '/send-policy', { contactTimeZoneField: 'data.home.0' });
    await contactsIn({ home: { 0: 'Etc/GMT+6' } }, { home: ['Etc/GMT+4'] });
    expect((await send(all.id, { localTime })).body.data).toMatchObject({ scheduledFor: at(5) });
  });

  it('begins at once where some are late and are to get it, and refuses what is past for all', async () => {
    await contactsIn({ timeZone: 'Etc/GMT-1' }, { timeZone: 'Etc/GMT+1' });
    const localTime = utcIn(0);
    const skip = await made();
    const ahead = new Date(Date.parse(`${localTime}Z`) + hourMs).toISOString();
    expect((await send(skip.id, { localTime, late: 'skip' })).body.data).toMatchObject({
      status: 'SCHEDULED',
      scheduledFor: ahead,
    });
    const { id } = await made();
    const before = Date.now();
    const { body } = await send(id, { localTime });
    expect(body).toMatchObject({
      message: 'The campaign is being sent.',
      data: { status: 'SENDING', localTime, late: 'send' },
    });
    expect(Date.parse(body.data.scheduledFor)).toBeGreaterThanOrEqual(before);
    await contactsIn({ timeZone: 'Etc/GMT-1' });
    for (const late of ['send', 'skip']) {
      const past = await made();
      expect(refusal(await send(past.id, { localTime, late }))).toEqual([400, 'SCHEDULE_IN_PAST']);
      expect((await shop.call('GET', `/campaigns/${past.id}`)).body.data.status).toBe('DRAFT');
    }
    await contactsIn();
    expect(refusal(await send((await made()).id, { localTime }))).toEqual([
      400,
      'CAMPAIGN_NO_RECIPIENTS',
    ]);
  });

  it('is undone by a send without it, read-only in PUT, and not copied', async () => {
    const { id } = await made();
    const localTime = '2027-07-01T09:00';
    await send(id, { localTime, late: 'skip' });
    const record = (await shop.call('GET', `/campaigns/${id}`)).body.data;
    const put = await shop.call('PUT', `/campaigns/${id}`, {
      ...record,
      localTime: '2027-08-01T09:00',
      late: null,
      name: 'Other',
    });
    expect(put.body.data).toMatchObject({ name: 'Other', localTime, late: 'skip' });
    const copy = await shop.call('POST', `/campaigns/${id}/duplicate`);
    expect(copy.body.data).toMatchObject({ localTime: null, late: null, scheduledFor: null });
    const at = new Date(Date.now() + hourMs).toISOString();
    expect((await send(id, { scheduledFor: at })).body.data).toMatchObject({
      localTime: null,
      late: null,
      scheduledFor: at,
    });
  });

  it('looks at many texts that are no zones page by page', async () => {
    await sql`
      insert into contact (project_id, email, subscribed, data)
        select ${shop.project.id}, 'no' || n || '@people.test', true,
            jsonb_build_object('timeZone', 'No/where' || n)
          from generate_series(1, 1200) n`.execute(shop.api.db);
    const { id } = await made();
    const localTime = utcIn(48 * hourMs);
    // Berlin is ahead of UTC.
    const { data } = (await send(id, { localTime })).body;
    expect(data.totalRecipients).toBe(1201);
    expect(Date.parse(data.scheduledFor)).toBeLessThan(Date.parse(`${localTime}Z`));
  });
});
