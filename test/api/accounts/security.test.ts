import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import { useApi } from '../../support/api.ts';
import { writeMail } from '../../support/mail-tables.ts';

const api = await useApi();

/** A project that sent mail `daysAgo`, some of which bounced. */
async function project(given: {
  sent: number;
  bounces?: number;
  complaints?: number;
  daysAgo?: number;
  ageDays?: number;
  to?: string;
}) {
  const { cookie } = await api.signUp();
  const { id, secretKey } = await api.createProject(cookie);
  const {
    sent,
    bounces = 0,
    complaints = 0,
    daysAgo = 1,
    ageDays = 365,
    to = 'people.test',
  } = given;
  await writeMail(api.db, (tx) =>
    sql`
    with someone as (
      insert into contact (project_id, email, subscribed) values (${id}, 'a@people.test', true)
        returning id
    )
    insert into email (project_id, contact_id, to_email, subject, from_email, message_class,
        source_type, status, sent_at, bounced_at, complained_at)
      select ${id}, someone.id, 'a@' || ${to}::text, '', 'a@b.test', 'MARKETING', 'CAMPAIGN', 'SENT', at,
          case when n <= ${bounces} then at end, case when n <= ${complaints} then at end
        from someone, generate_series(1, ${sent}) n,
          (select now() - make_interval(days => ${daysAgo}) as at) moment`.execute(tx),
  );
  await sql`update project set created_at = now() - make_interval(days => ${ageDays})
    where id = ${id}`.execute(api.db);
  const { body } = await api.request('GET', `/projects/${id}/security`, { key: secretKey });
  return { id, cookie, body };
}

const judged = async (given: Parameters<typeof project>[0]) => (await project(given)).body.data;

describe('the security view', () => {
  it('is wrapped below /projects and bare below /users, and else the same', async () => {
    const { id, cookie, body } = await project({ sent: 3 });
    const bare = await api.request('GET', `/users/@me/projects/${id}/security`, { cookie });
    expect(body).toEqual({ success: true, data: bare.body });
    expect(bare.body).toEqual({
      status: {
        projectId: id,
        isHealthy: true,
        shouldDisable: false,
        twentyFourHour: { total: 0, bounces: 0, complaints: 0, bounceRate: 0, complaintRate: 0 },
        sevenDay: { total: 3, bounces: 0, complaints: 0, bounceRate: 0, complaintRate: 0 },
        allTime: { total: 3, bounces: 0, complaints: 0, bounceRate: 0, complaintRate: 0 },
        isNewProject: false,
        violations: [],
        warnings: [],
      },
      levels: {
        bounce7Day: 'healthy',
        bounceAllTime: 'healthy',
        complaint7Day: 'healthy',
        complaintAllTime: 'healthy',
      },
      isDisabled: false,
      suspensions: [],
    });
  });

  it('names 10 bounces of 100 critical, without a number in the text', async () => {
    const { status, levels } = await judged({ sent: 100, bounces: 10 });
    expect(levels).toMatchObject({ bounce7Day: 'critical', bounceAllTime: 'critical' });
    expect(status).toMatchObject({ isHealthy: false, shouldDisable: true, warnings: [] });
    expect(status.sevenDay).toMatchObject({ total: 100, bounces: 10, bounceRate: 10 });
    expect(status.violations).toHaveLength(1);
    expect(status.violations[0]).not.toMatch(/\d/);
  });

  it('looks at no rate below 100 sent mails', async () => {
    expect((await judged({ sent: 99, bounces: 20 })).levels.bounce7Day).toBe('healthy');
  });

  it('warns of 5 bounces of 100', async () => {
    const { status, levels } = await judged({ sent: 100, bounces: 5 });
    expect([levels.bounce7Day, levels.bounceAllTime]).toEqual(['warning', 'warning']);
    expect(status).toMatchObject({ isHealthy: true, violations: [] });
    expect(status.warnings).toHaveLength(1);
  });

  it('lets too few complaints make no rate', async () => {
    expect((await judged({ sent: 100, complaints: 2 })).levels.complaint7Day).toBe('healthy');
    expect((await judged({ sent: 100, complaints: 5 })).levels.complaint7Day).toBe('critical');
  });

  it('counts what is older than seven days for all time only', async () => {
    const { status, levels } = await judged({ sent: 100, bounces: 10, daysAgo: 8 });
    expect(status.sevenDay.total).toBe(0);
    expect([levels.bounce7Day, levels.bounceAllTime]).toEqual(['healthy', 'critical']);
  });

  it('holds absolute limits from the first mail on, stricter for new projects', async () => {
    const old = await judged({ sent: 60, bounces: 26, daysAgo: 0 });
    expect(old.status.violations).toEqual([]);
    const young = await judged({ sent: 60, bounces: 26, daysAgo: 0, ageDays: 3 });
    expect(young.status).toMatchObject({ isNewProject: true, shouldDisable: true });
  });

  it('does not count the simulator', async () => {
    const { status } = await judged({ sent: 100, bounces: 50, to: 'simulator.test' });
    expect(status).toMatchObject({ isHealthy: true, sevenDay: { total: 0, bounces: 0 } });
  });

  it('lists suspensions, also those by the operator in the database', async () => {
    const { id, cookie } = await project({ sent: 1 });
    for (const reason of ['MANUAL', null, 'EMAIL_REPUTATION']) {
      await api.db
        .updateTable('project')
        .set({ disabled_reason: reason })
        .where('id', '=', id)
        .execute();
    }
    const { body } = await api.request('GET', `/users/@me/projects/${id}/security`, { cookie });
    expect(body).toMatchObject({
      isDisabled: true,
      suspensions: [
        { reason: 'EMAIL_REPUTATION', at: expect.any(String), endedAt: null },
        { reason: 'MANUAL', at: expect.any(String), endedAt: expect.any(String) },
      ],
    });
  });
});
