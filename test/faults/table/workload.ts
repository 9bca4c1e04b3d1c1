import { sql } from 'kysely';
import { createCampaign } from '../../support/projects/campaigns.ts';
import { createTemplate, createWorkflow } from '../../support/histories/executions.ts';
import { waitFor } from '../../support/wait-for.ts';
import type { World } from './world.ts';

/** Work for Everpost during a fault, with countable results. */

export interface Tally {
  /** Accepted by the API, and neither done nor refused with a reason. */
  lost: number;
  /** Done once more than asked for. */
  duplicated: number;
  /** Possibly done, and reported as unknown. */
  unknown: number;
  /** Other faults, in words. */
  wrong: string[];
}

export interface Part {
  /** Makes all its requests. Resolves when each has been answered. */
  begin(): Promise<void>;
  /** Returns null if no work is left, else a description of the open work. */
  pending(): Promise<string | null>;
  tally(): Promise<Tally>;
}

/** One run of one fault: the amount of work, and the mark of its rows. */
export interface Play {
  world: World;
  mark: string;
  recipients: number;
  random: () => number;
  /** The id of its campaign, after its creation. */
  campaignId?: string;
}

export type PartMaker = (play: Play) => Promise<Part>;

const nothing: Tally = { lost: 0, duplicated: 0, unknown: 0, wrong: [] };

export function addTallies(tallies: readonly Tally[]): Tally {
  return tallies.reduce(
    (sum, one) => ({
      lost: sum.lost + one.lost,
      duplicated: sum.duplicated + one.duplicated,
      unknown: sum.unknown + one.unknown,
      wrong: [...sum.wrong, ...one.wrong],
    }),
    nothing,
  );
}

/**
 * Counts mail by its addresses: `promised` is how many messages were accepted for each. A message
 * is lost when its row is missing, or says anything but FAILED while it never arrived; it is
 * duplicated when it arrived twice under one id, or has more rows than were asked for.
 */
async function tallyMail(
  { world: { db, sink } }: Play,
  promised: ReadonlyMap<string, number>,
): Promise<Tally> {
  const rows = await db
    .selectFrom('email')
    .select(['id', 'to_email', 'status', 'error'])
    .where('to_email', '=', sql<string>`any(${[...promised.keys()]}::text[])`)
    .execute();
  const tally = { ...nothing };
  const rowsTo = new Map<string, number>();
  for (const { id, to_email: to, status, error } of rows) {
    const arrived = sink.emails.get(id) ?? 0;
    rowsTo.set(to, (rowsTo.get(to) ?? 0) + 1);
    tally.duplicated += Math.max(0, arrived - 1);
    if (error === 'delivery_unknown') tally.unknown += 1;
    else if (arrived === 0 && status !== 'FAILED') tally.lost += 1;
  }
  for (const [to, count] of promised) {
    const found = rowsTo.get(to) ?? 0;
    tally.lost += Math.max(0, count - found);
    tally.duplicated += Math.max(0, found - count);
  }
  return tally;
}

/** Describes mail to addresses with this beginning that has not ended; null: there is none. */
async function pendingMail({ world: { db } }: Play, beginning: string): Promise<string | null> {
  const { rows } = await sql<{ status: string; count: number }>`
    select status, count(*)::int as count from email
      where to_email like ${`${beginning}%`} and status in ('PENDING', 'SENDING')
      group by status`.execute(db);
  return rows.map(({ status, count }) => `${count} ${status}`).join(', ') || null;
}

/** A campaign to so many contacts. */
export const campaign: PartMaker = (play) => campaignWith(play, {});

/** The same with other content (`given`), or with more data of the nth contact (SQL). */
export async function campaignWith(
  play: Play,
  { given = {}, data = "'{}'" }: { given?: object; data?: string },
): Promise<Part> {
  const { world, mark, recipients } = play;
  await sql`
    insert into contact (project_id, email, subscribed, data)
      select ${world.engine.project.id}, ${`${mark}c-`}::text || n || '@people.test', true,
          jsonb_build_object('name', 'No. ' || n, 'mark', ${mark}::text) || (${sql.raw(data)})::jsonb
        from generate_series(1, ${recipients}::int) n`.execute(world.db);
  const id = await createCampaign(world.engine, {
    audienceType: 'FILTERED',
    audienceFilter: {
      operator: 'AND',
      conditions: [{ field: 'data.mark', operator: 'equals', value: mark }],
    },
    ...given,
  });
  play.campaignId = id;
  const statusOf = async () =>
    (
      await world.db
        .selectFrom('campaign')
        .select(['status', 'sent_count'])
        .where('id', '=', id)
        .executeTakeFirstOrThrow()
    ).status;
  let early = 0;
  return {
    async begin() {
      const { status, body } = await world.ask('POST', `/campaigns/${id}/send`, {}, `${mark}c`);
      // A repeated request whose first response was lost: the campaign is being sent already.
      const isSending = body?.error?.code === 'CAMPAIGN_NOT_SENDABLE';
      if (status !== 200 && !isSending) throw new Error(JSON.stringify(body));
    },
    async pending() {
      const status = await statusOf();
      const mail = await pendingMail(play, `${mark}c-`);
      if (status === 'SENT' && mail) early += 1;
      return mail ?? (/SENT|CANCELLED/.test(status) ? null : `campaign ${status}`);
    },
    async tally() {
      const promised = Array.from(
        { length: recipients },
        (_, index) => [`${mark}c-${index + 1}@people.test`, 1] as const,
      );
      const tally = await tallyMail(play, new Map(promised));
      const { rows } = await sql<{ sent: number; said: number }>`
        select sent_count as said, (select count(*)::int from email
            where campaign_id = campaign.id and sent_at is not null) as sent
          from campaign where id = ${id}`.execute(world.db);
      const [{ sent, said } = { sent: 0, said: 0 }] = rows;
      return {
        ...tally,
        wrong: [
          ...(early > 0 ? ['said to be SENT too early'] : []),
          ...(sent === said ? [] : [`${said} said to be sent, not ${sent}`]),
        ],
      };
    },
  };
}

/** Executions that send, wait for an event, and send again. */
export const executions: PartMaker = async (play) => {
  const { world, mark, recipients } = play;
  const templateId = await createTemplate(world.engine);
  const workflow = await createWorkflow(world.engine, {
    eventName: `${mark}began`,
    steps: [
      { type: 'SEND_EMAIL', name: 'First', templateId },
      { type: 'WAIT_FOR_EVENT', name: 'Wait', config: { eventName: `${mark}clicked` } },
      { type: 'SEND_EMAIL', name: 'Second', templateId },
    ],
  });
  const count = Math.max(10, Math.round(recipients / 10));
  const emails = Array.from({ length: count }, (_, index) => `${mark}e-${index}@people.test`);
  const track = async (email: string, event: string) => {
    const given = { email, event: mark + event };
    const { status, body } = await world.ask('POST', '/v1/track', given, email + event);
    if (status !== 200) throw new Error(JSON.stringify(body));
  };
  /** Its first mail was refused, or has an unknown outcome. */
  const hasFailed = async (email: string) => {
    const query = world.db.selectFrom('email').select('id').where('to_email', '=', email);
    return (await query.where('status', '=', 'FAILED').execute()).length > 0;
  };
  const listStatuses = async () =>
    (
      await world.db
        .selectFrom('execution')
        .select('status')
        .where('workflow_id', '=', workflow.id)
        .execute()
    ).map(({ status }) => status);
  return {
    async begin() {
      await Promise.all(
        emails.map(async (email) => {
          await track(email, 'began');
          let askAt = Date.now();
          const isOver = async () => {
            if ((world.sink.counts.get(email) ?? 0) > 0) return true;
            if (Date.now() < askAt) return false;
            askAt = Date.now() + 1_000;
            return hasFailed(email).catch(() => false);
          };
          await waitFor(`the first mail to ${email}`, isOver, 150_000).catch(() => {});
          await track(email, 'clicked');
        }),
      );
    },
    async pending() {
      const open = (await listStatuses()).filter((status) => /RUNNING|WAITING/.test(status));
      if (open.length > 0) return `${open.length} executions ${open[0]}`;
      return pendingMail(play, `${mark}e-`);
    },
    async tally() {
      const statuses = await listStatuses();
      const failed = statuses.filter((status) => status !== 'COMPLETED');
      const tally = await tallyMail(play, new Map(emails.map((email) => [email, 2])));
      return {
        ...tally,
        wrong: [
          ...(failed.length > 0 ? [`${failed.length} executions ${failed[0]}`] : []),
          ...(statuses.length === count ? [] : [`${statuses.length} executions of ${count}`]),
        ],
      };
    },
  };
};

/** Requests to `/v1/send`, each to five addresses. */
export const sends: PartMaker = async (play) => {
  const { world, mark, recipients } = play;
  const requests = Array.from({ length: Math.max(10, Math.round(recipients / 30)) }, (_, request) =>
    Array.from({ length: 5 }, (__, index) => `${mark}s-${request}-${index}@people.test`),
  );
  return {
    async begin() {
      const from = `team@${world.engine.domain}`;
      const shared = requests.entries();
      const sender = async () => {
        for (const [index, to] of shared) {
          const mail = { to, from, subject: 'Hello', body: '<p>Hello</p>' };
          const { status, body } = await world.ask('POST', '/v1/send', mail, `${mark}s${index}`);
          if (status !== 200) throw new Error(JSON.stringify(body));
        }
      };
      await Promise.all([sender(), sender()]);
    },
    pending: () => pendingMail(play, `${mark}s-`),
    tally: () => tallyMail(play, new Map(requests.flat().map((to) => [to, 1]))),
  };
};
