import { sql } from 'kysely';
import { beforeEach, describe, expect, it } from 'vitest';
import { type Engine, useEngine } from '../../support/engine.ts';
import { type AnswerTo, type SmtpPeer, useSmtpPeer } from '../../support/fakes/smtp-peer.ts';
import { useWorkerProcess } from '../../support/processes/processes.ts';
import {
  act,
  campaignIn,
  createCampaign,
  insertContacts,
} from '../../support/projects/campaigns.ts';
import { newRoutedShop } from '../../support/projects/routed-shop.ts';
import { sweepNow } from '../../support/sweep-now.ts';
import { useFolder } from '../../support/use.ts';
import { waitFor } from '../../support/wait-for.ts';

/** Campaigns over two mail servers, while one of them, or the worker, dies. */

const home = await useSmtpPeer();
const settings = {
  SMTP_HOST: '127.0.0.1',
  SMTP_PORT: String(home.port),
  EMAIL_RATE_LIMIT_PER_SECOND: '0',
  EMAIL_RATE_PER_PROJECT_PER_SECOND: '0',
  DELIVERY_SETTLE_MINUTES: '0',
  CAMPAIGN_PAUSE_ON_FAILURES: '0',
};
const engine = await useEngine(settings, { worker: false });
const { db } = engine.api;

let dir: string;
beforeEach(async () => {
  dir = await useFolder();
});
const worker = (more: Record<string, string> = {}) =>
  useWorkerProcess(engine, { ...settings, JOURNAL_DIR: dir, ...more });

const idIn = (message: string) => /^X-Everpost-Email: (\S+)/m.exec(message)?.[1] ?? '';

/** A mail server that notes which messages it has taken, also those it says nothing about. */
async function useTaker(answer: (taken: number) => string | undefined) {
  const taken: string[] = [];
  let peer: SmtpPeer | undefined = undefined;
  const answerTo: AnswerTo = (command) => {
    if (command === 'greeting') return answer(-1);
    if (command !== '.') return undefined;
    const reply = answer(taken.length);
    const isTaken = reply === undefined || reply === 'reset';
    if (isTaken) taken.push(idIn(peer?.messages.at(-1) ?? ''));
    return reply;
  };
  peer = await useSmtpPeer(answerTo);
  return { peer, taken };
}

/** Starts a campaign whose mail goes to A, and to B when A does not take it. */
async function startCampaign(
  a: { peer: SmtpPeer },
  b: { peer: SmtpPeer },
  recipients: number,
): Promise<{ shop: Engine; id: string; ids: string[] }> {
  const routed = await newRoutedShop(engine);
  const ids = [await routed.add('A', a.peer), await routed.add('B', b.peer)];
  await routed.setRoutes(
    routed.route(
      ids.map((id) => ({ id, weight: 0 })),
      { onDown: 'next' },
    ),
  );
  const { call, domain, projectId } = routed;
  const shop = { ...engine, call, domain, project: { ...engine.project, id: projectId } };
  await insertContacts(shop, recipients);
  const id = await createCampaign(shop);
  await act(shop, id, 'send');
  return { shop, id, ids };
}

async function statusesOf(campaignId: string) {
  return db
    .selectFrom('email')
    .select(['id', 'status', 'error', 'provider_id'])
    .where('campaign_id', '=', campaignId)
    .execute();
}

/** Waits until no message of the campaign waits or is being sent. */
async function endOf(shop: Engine, id: string): Promise<void> {
  await waitFor(
    'the end of the campaign',
    async () => {
      // Instead of waiting for the two minutes of a lease.
      await sql`update campaign_chunk set lease_until = now() - interval '1 hour'
        where attempt_id is not null and claimed_at < now() - interval '20 seconds'`.execute(db);
      await sweepNow(engine);
      const { rows } = await sql`select from email
        where campaign_id = ${id} and status in ('PENDING', 'SENDING') limit 1`.execute(db);
      return rows.length === 0;
    },
    120_000,
  );
  await campaignIn(shop, id, 'SENT', 60_000);
}

const overlap = (one: readonly string[], other: readonly string[]) => {
  const known = new Set(one);
  return other.filter((id) => known.has(id));
};
const repeats = (ids: readonly string[]) => ids.length - new Set(ids).size;

describe('a campaign whose first provider dies', () => {
  it('in three ways reaches each recipient at most once, over both', async () => {
    const recipients = 2_000;
    let isAway = false;
    const a = await useTaker((taken) => {
      if (taken < 0) return isAway ? '421 away' : undefined;
      // First it drops connections after the data, then it refuses the data, then it is away.
      if (taken > 300 && taken < 330) return 'reset';
      if (taken >= 600 && taken < 602) return '451 4.3.0 later';
      isAway = taken >= 330 && taken < 600 && taken % 50 === 0;
      return undefined;
    });
    const b = await useTaker(() => undefined);
    await worker();
    const { shop, id, ids } = await startCampaign(a, b, recipients);
    await endOf(shop, id);
    expect(overlap(a.taken, b.taken)).toEqual([]);
    expect([repeats(a.taken), repeats(b.taken)]).toEqual([0, 0]);
    const rows = await statusesOf(id);
    expect(rows).toHaveLength(recipients);
    const unknown = rows.filter(({ error }) => error === 'delivery_unknown');
    const reached = new Set([...a.taken, ...b.taken]);
    // All but those of unknown outcome have arrived, once.
    expect(rows.filter((row) => row.status === 'SENT' && !reached.has(row.id))).toEqual([]);
    expect(rows.filter(({ status }) => status === 'SENT').length + unknown.length).toBe(recipients);
    expect(unknown.every((row) => row.provider_id === ids[0])).toBe(true);
    expect(unknown.length).toBeGreaterThan(0);
    expect(b.taken.length).toBeGreaterThan(0);
  }, 180_000);
});

describe('a worker that is killed between two providers', () => {
  it.each(['fail', 'resend'])(
    'leaves no message to both of them, with the policy %s for unknown outcomes',
    async (policy) => {
      const recipients = 900;
      let count = 0;
      // It takes two thirds, and drops the connection of some after the data.
      const a = await useTaker((taken) => {
        if (taken < 0) return undefined;
        count += 1;
        if (count % 40 === 0) return 'reset';
        return count % 3 === 0 ? '451 4.3.0 later' : undefined;
      });
      const b = await useTaker(() => undefined);
      const first = await worker({ DELIVERY_UNKNOWN_POLICY: policy });
      const { shop, id, ids } = await startCampaign(a, b, recipients);
      await waitFor('a part of it', () => a.taken.length + b.taken.length > 300, 60_000);
      await first.kill();
      await worker({ DELIVERY_UNKNOWN_POLICY: policy });
      await endOf(shop, id);
      expect(overlap(a.taken, b.taken)).toEqual([]);
      const rows = await statusesOf(id);
      const sent = rows.filter(({ status }) => status === 'SENT');
      const at = { [ids[0]!]: new Set(a.taken), [ids[1]!]: new Set(b.taken) };
      expect(sent.filter((row) => !at[row.provider_id!]?.has(row.id))).toEqual([]);
      // The policy resend may send a message twice, but by the same provider.
      if (policy === 'fail') expect([repeats(a.taken), repeats(b.taken)]).toEqual([0, 0]);
    },
    240_000,
  );
});
