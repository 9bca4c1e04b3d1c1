import { expect, it } from 'vitest';
import { errorFields, useWorkflowApi } from '../../support/projects/workflow-api.ts';

const shop = await useWorkflowApi();

const put = (body: object, as?: string) => shop.call('PUT', '/send-policy', body, as);
const get = async (as?: string) => (await shop.call('GET', '/send-policy', undefined, as)).body;
const allDays = ['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun'];

it('has defaults that hold nothing back until it is set', async () => {
  const { secretKey } = await shop.api.createProject(shop.cookie);
  expect(await get(secretKey)).toEqual({
    timeZone: 'UTC',
    contactTimeZoneField: 'data.timeZone',
    quietHours: null,
    caps: [],
    onCap: 'skip',
    updatedAt: null,
  });
});

it('keeps what a request leaves out, and answers days in the order of the week', async () => {
  const quietHours = { from: '22:00', to: '24:00', days: ['sun', 'mon', 'sun'] };
  const set = await put({ timeZone: 'europe/Kyiv', quietHours, onCap: 'delay' });
  expect([set.status, set.body]).toEqual([
    200,
    {
      timeZone: 'europe/Kyiv',
      contactTimeZoneField: 'data.timeZone',
      quietHours: { ...quietHours, days: ['mon', 'sun'] },
      caps: [],
      onCap: 'delay',
      updatedAt: expect.any(String),
    },
  ]);
  const capped = await put({ caps: [{ max: 3, perDays: 7 }], contactTimeZoneField: null });
  expect(capped.body).toMatchObject({
    timeZone: 'europe/Kyiv',
    contactTimeZoneField: null,
    quietHours: { from: '22:00' },
    caps: [{ max: 3, perDays: 7 }],
  });
  expect(await get()).toEqual(capped.body);
  expect((await put({ quietHours: { from: '08:00:30', to: '07:00' } })).body).toMatchObject({
    quietHours: { from: '08:00:30', to: '07:00', days: allDays },
  });
  expect((await put({ quietHours: null })).body.quietHours).toBe(null);
});

it.each([
  [{ timeZone: 'Mars/X' }, 'timeZone invalid_string'],
  [{ timeZone: '+02:00' }, 'timeZone invalid_string'],
  [{ timeZone: null }, 'timeZone invalid_type'],
  [{ contactTimeZoneField: 'zone' }, 'contactTimeZoneField unsupported_field'],
  [{ contactTimeZoneField: 'data.' }, 'contactTimeZoneField unsupported_field'],
  [{ contactTimeZoneField: `data.${'x'.repeat(196)}` }, 'contactTimeZoneField unsupported_field'],
  [{ quietHours: { from: '24:00', to: '08:00' } }, 'quietHours.from invalid_string'],
  [{ quietHours: { from: '22:00', to: '8:00' } }, 'quietHours.to invalid_string'],
  [{ quietHours: { from: '22:00', to: 5 } }, 'quietHours.to invalid_type'],
  [{ quietHours: { from: '22:00', to: '22:00:00' } }, 'quietHours.to custom'],
  [{ quietHours: { from: '00:00', to: '24:00' } }, 'quietHours.to custom'],
  [
    { quietHours: { from: '22:00', to: '08:00', days: ['Mon'] } },
    'quietHours.days.0 invalid_enum_value',
  ],
  [{ quietHours: { from: '22:00', to: '08:00', days: [] } }, 'quietHours.days too_small'],
  [{ caps: Array.from({ length: 6 }, () => ({ max: 1, perDays: 1 })) }, 'caps too_big'],
  [{ caps: [{ max: 0, perDays: 1 }] }, 'caps.0.max too_small'],
  [{ caps: [{ max: 1, perDays: 366 }] }, 'caps.0.perDays too_big'],
  [{ onCap: 'drop' }, 'onCap invalid_enum_value'],
])('refuses %j', async (body, fault) => {
  const { status, body: answer } = await put(body);
  expect([status, errorFields(answer)]).toEqual([422, [fault]]);
});

it('may be silent for whole days, if one is left', async () => {
  const days = allDays.slice(1);
  const { body } = await put({ quietHours: { from: '00:00', to: '24:00', days } });
  expect(body.quietHours).toEqual({ from: '00:00', to: '24:00', days });
});

it('is seen by every member, and set by administrators and the secret key', async () => {
  const member = await shop.api.signUp();
  await shop.api.db
    .insertInto('membership')
    .values({ project_id: shop.projectId, user_id: member.userId, role: 'MEMBER' })
    .execute();
  const as = (cookie: string, method: string) =>
    shop.api.request(method, '/send-policy', {
      cookie,
      headers: { 'X-Project-Id': shop.projectId },
      ...(method === 'PUT' && { body: { onCap: 'skip' } }),
    });
  const refused = await as(member.cookie, 'PUT');
  expect([refused.status, refused.body.error.code]).toEqual([403, 'INSUFFICIENT_ROLE']);
  expect((await as(member.cookie, 'GET')).status).toBe(200);
  expect((await as(shop.cookie, 'PUT')).status).toBe(200);
});

it('is kept when the project is reset', async () => {
  const { id, secretKey } = await shop.api.createProject(shop.cookie);
  await put({ timeZone: 'Asia/Tokyo' }, secretKey);
  const reset = await shop.api.request('POST', `/users/@me/projects/${id}/reset`, {
    cookie: shop.cookie,
    body: {},
  });
  expect(reset.status).toBe(200);
  expect(await get(secretKey)).toMatchObject({ timeZone: 'Asia/Tokyo' });
});
