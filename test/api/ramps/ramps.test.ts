import { describe, expect, it } from 'vitest';
import { randomUUID } from 'node:crypto';
import { useShop } from '../../support/projects/shop.ts';

const shop = await useShop({ RAMP_DAY_SECONDS: '3600' });
const { api } = shop;

async function newProject() {
  const { secretKey, publicKey, id } = await api.createProject((await api.signUp()).cookie);
  const ask = (method: string, path: string, body?: unknown) =>
    api.request(method, path, { key: secretKey, body });
  return { id, publicKey, ask };
}

const newDomain = () => `${randomUUID()}.test`;
const ramp = (more: object = {}) => ({
  domain: newDomain(),
  startPerDay: 200,
  days: 14,
  ...more,
});
const codeOf = ({ status, body }: { status: number; body: { error: { code: string } } }) => [
  status,
  body.error.code,
];
const hourMs = 3_600_000;

describe('a ramp', () => {
  it('begins with its first day, and shows its limit and counts', async () => {
    const { ask, id: projectId } = await newProject();
    const domain = newDomain();
    const stopWhen = { bounceRate: 5, complaintRate: 0.1, minSent: 50 };
    const made = await ask('POST', '/ramps', ramp({ domain: domain.toUpperCase(), stopWhen }));
    expect([made.status, made.body]).toEqual([
      201,
      {
        id: expect.any(String),
        providerId: null,
        domain,
        startPerDay: 200,
        factor: 1.5,
        days: 14,
        over: 'hold',
        stopWhen,
        status: 'RUNNING',
        stoppedFor: null,
        day: 1,
        cap: 200,
        used: 0,
        held: 0,
        nextDayAt: expect.any(String),
        history: [],
        startedAt: made.body.createdAt,
        projectId,
        createdAt: expect.any(String),
        updatedAt: expect.any(String),
      },
    ]);
    const { startedAt, nextDayAt } = made.body;
    expect(Date.parse(nextDayAt) - Date.parse(startedAt)).toBe(hourMs);
    expect((await ask('GET', `/ramps/${made.body.id}`)).body).toEqual(made.body);
  });

  it('of a provider and of a domain are listed newest first', async () => {
    const { ask } = await newProject();
    const byDomain = await ask('POST', '/ramps', ramp());
    const byProvider = await ask('POST', '/ramps', ramp({ domain: null, providerId: 'default' }));
    expect(byProvider.body).toMatchObject({ providerId: 'default', domain: null, stopWhen: null });
    const { body } = await ask('GET', '/ramps');
    expect(body).toEqual([byProvider.body, byDomain.body]);
  });

  it('is refused with all problems of its fields', async () => {
    const { ask } = await newProject();
    const faultsOf = async (body: object) => {
      const answer = await ask('POST', '/ramps', body);
      return [answer.status, answer.body.error.errors.map((one: { field: string }) => one.field)];
    };
    expect(await faultsOf({ startPerDay: 0, factor: 3.1, days: 91, domain: 'a b' })).toEqual([
      422,
      ['domain', 'startPerDay', 'factor', 'days'],
    ]);
    const { status, body } = await ask('POST', '/ramps', { startPerDay: 5, days: 3 });
    expect([status, body.error.errors]).toMatchObject([
      422,
      [{ field: 'providerId', code: 'required' }],
    ]);
    const stopWhen = { bounceRate: 101, complaintRate: -1, minSent: 0 };
    expect((await faultsOf(ramp({ stopWhen })))[1]).toEqual([
      'stopWhen.bounceRate',
      'stopWhen.complaintRate',
      'stopWhen.minSent',
    ]);
    for (const providerId of [randomUUID(), 'nowhere']) {
      const answer = await ask('POST', '/ramps', ramp({ providerId }));
      expect(answer.body.error.errors).toMatchObject([{ field: 'providerId', code: 'not_found' }]);
    }
  });

  it('is the only unfinished one of its provider and domain', async () => {
    const { ask } = await newProject();
    const given = ramp();
    const { body: first } = await ask('POST', '/ramps', given);
    const again = await ask('POST', '/ramps', given);
    expect(codeOf(again)).toEqual([409, 'RAMP_EXISTS']);
    expect(again.body.error.details).toEqual({ id: first.id });
    expect((await ask('POST', '/ramps', { ...given, providerId: 'default' })).status).toBe(201);
    await api.db
      .updateTable('ramp')
      .set({ status: 'DONE', day_ends_at: null })
      .where('id', '=', first.id)
      .execute();
    expect((await ask('POST', '/ramps', given)).status).toBe(201);
  });

  it('is one of at most 20 of a project, also under parallel requests', async () => {
    const { ask } = await newProject();
    const answers = await Promise.all(
      Array.from({ length: 25 }, () => ask('POST', '/ramps', ramp())),
    );
    const codes = answers.map(({ status, body }) => body.error?.code ?? status).toSorted();
    expect(codes).toEqual([
      ...Array.from({ length: 20 }, () => 201),
      ...Array.from({ length: 5 }, () => 'RAMP_LIMIT'),
    ]);
  });

  it('pauses with the rest of its day, and resumes on the same day', async () => {
    const { ask } = await newProject();
    const { id } = (await ask('POST', '/ramps', ramp())).body;
    expect(codeOf(await ask('POST', `/ramps/${id}/resume`))).toEqual([409, 'RAMP_NOT_PAUSED']);
    const paused = await ask('POST', `/ramps/${id}/pause`);
    expect([paused.status, paused.body]).toMatchObject([
      200,
      { status: 'PAUSED', nextDayAt: null, day: 1, cap: 200 },
    ]);
    expect(codeOf(await ask('POST', `/ramps/${id}/pause`))).toEqual([409, 'RAMP_NOT_RUNNING']);
    const left = { day_left_ms: hourMs / 2 };
    await api.db.updateTable('ramp').set(left).where('id', '=', id).execute();
    const before = Date.now();
    const resumed = await ask('POST', `/ramps/${id}/resume`);
    expect([resumed.status, resumed.body]).toMatchObject([200, { status: 'RUNNING', day: 1 }]);
    const leftMs = Date.parse(resumed.body.nextDayAt) - before;
    expect(leftMs).toBeGreaterThan(hourMs / 2 - 10_000);
    expect(leftMs).toBeLessThan(hourMs / 2 + 10_000);
    expect((await ask('DELETE', `/ramps/${id}`)).status).toBe(204);
    expect(codeOf(await ask('GET', `/ramps/${id}`))).toEqual([404, 'RAMP_NOT_FOUND']);
    expect((await ask('GET', '/ramps')).body).toEqual([]);
  });

  it('is changed by administrators only, and looks missing to other projects', async () => {
    const { ask, id: projectId, publicKey } = await newProject();
    const { id } = (await ask('POST', '/ramps', ramp())).body;
    const changes = [
      ['POST', '/ramps'],
      ['DELETE', `/ramps/${id}`],
      ['POST', `/ramps/${id}/pause`],
      ['POST', `/ramps/${id}/resume`],
    ] as const;
    const reads = [
      ['GET', '/ramps'],
      ['GET', `/ramps/${id}`],
    ] as const;
    const member = await api.signUp();
    await api.db
      .insertInto('membership')
      .values({ project_id: projectId, user_id: member.userId, role: 'MEMBER' })
      .execute();
    const asMember = (method: string, path: string) =>
      api.request(method, path, {
        cookie: member.cookie,
        headers: { 'X-Project-Id': projectId },
        ...(path === '/ramps' && method === 'POST' ? { body: ramp() } : {}),
      });
    for (const [method, path] of changes) {
      expect(codeOf(await asMember(method, path))).toEqual([403, 'INSUFFICIENT_ROLE']);
    }
    for (const [method, path] of reads) expect((await asMember(method, path)).status).toBe(200);
    for (const [method, path] of [...changes, ...reads]) {
      const { status } = await api.request(method, path, { key: publicKey });
      expect(status).toBe(401);
      if (path === '/ramps') continue;
      const foreign = await api.request(method, path, { key: shop.project.secretKey });
      expect(codeOf(foreign)).toEqual([404, 'RAMP_NOT_FOUND']);
    }
  });

  it('outlives the reset of its project, and ends with its deletion', async () => {
    const { cookie } = await api.signUp();
    const { id } = await api.createProject(cookie);
    const ask = (method: string, path: string, body?: unknown) =>
      api.request(method, path, { cookie, headers: { 'X-Project-Id': id }, body });
    const { body: made } = await ask('POST', '/ramps', ramp());
    expect((await ask('POST', `/users/@me/projects/${id}/reset`)).status).toBe(200);
    expect((await ask('GET', '/ramps')).body).toEqual([made]);
    await ask('DELETE', `/users/@me/projects/${id}`);
    const left = api.db.selectFrom('ramp').select('id').where('id', '=', made.id);
    expect(await left.execute()).toEqual([]);
  });
});
