import { sql } from 'kysely';
import { linkIdOf } from '../../../domain/links/link-ids.ts';
import { trackingLinks } from '../../../domain/links/tracking.ts';
import { createSigner } from '../../../providers/encryption.ts';
import type { TestApi } from '../api.ts';
import { writeMail } from '../mail-tables.ts';
import { insertTestCampaign, insertTestEmail } from './mails.ts';
import { tasksOf } from '../sweep-now.ts';

/** User agent of a person's browser. */
export const browser = 'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0';

/** A request for the pixel or a link of a mail. */
export interface TrackedRequest {
  method?: 'GET' | 'HEAD';
  /** User agent; empty: no header. Default: a browser. */
  agent?: string;
  /** IP address of the client, if the API trusts a proxy. */
  from?: string;
}

/** Returns functions that open the pixel and the links of a mail. */
export function trackedMail(api: TestApi, id: string, links: readonly string[]) {
  const sign = createSigner(api.services.config.jwtSecret, 'tracking links');
  const { pixelUrl, clickUrl } = trackingLinks('', id, sign);

  async function ask(url: string, { method = 'GET', agent = browser, from }: TrackedRequest) {
    const headers = { 'User-Agent': agent, ...(from && { 'X-Forwarded-For': from }) };
    const response = await fetch(`${api.url}${url}`, { method, redirect: 'manual', headers });
    await response.arrayBuffer();
    return response;
  }

  return {
    id,
    open: (request: TrackedRequest = {}) => ask(pixelUrl, request),
    click: (request: TrackedRequest & { link?: number } = {}) => {
      const target = links[request.link ?? 0]!;
      const link = { target, linkId: linkIdOf(target), linkCount: links.length };
      return ask(clickUrl(link), request);
    },
  };
}

/**
 * Returns functions that send mail with links, open and click it, and classify these requests as
 * human or machine at once.
 */
export function engagementOf(api: TestApi, project: { id: string }, contactId: string) {
  return {
    /** @param seconds seconds since the mail was delivered */
    async sentMail(links: readonly string[] = ['https://shop.example/'], seconds = 60) {
      const campaignId = await insertTestCampaign(api.db, project.id);
      const id = await insertTestEmail(api.db, { projectId: project.id, contactId, campaignId });
      await setDelivered(id, new Date(Date.now() - seconds * 1000));
      return { campaignId, ...trackedMail(api, id, links) };
    },
    setDelivered,
    /** Makes the classification of all requests due, and runs it as the sweep does. */
    async settle() {
      await sql`update engagement set settle_at = now() - interval '1 minute'
        where settle_at is not null`.execute(api.db);
      await tasksOf(api, {}).SETTLE_ENGAGEMENT();
    },
    async verdicts(emailId: string) {
      const { rows } = await sql<{ kind: string; verdict: string | null; rule: string | null }>`
        select kind, verdict, rule from engagement
          where email_id = ${emailId} and kind <> 'head' order by at, id`.execute(api.db);
      return rows;
    },
    emailOf: (id: string) =>
      api.db.selectFrom('email').selectAll().where('id', '=', id).executeTakeFirstOrThrow(),
    campaignOf: (id: string) =>
      api.db.selectFrom('campaign').selectAll().where('id', '=', id).executeTakeFirstOrThrow(),
    async eventsOf(id: string) {
      const { rows } = await sql<{ name: string; data: Record<string, unknown> }>`
        select name, data from event where email_id = ${id} order by recorded_at, name`.execute(
        api.db,
      );
      return rows;
    },
  };

  async function setDelivered(id: string, at: Date | null): Promise<void> {
    await writeMail(api.db, (tx) =>
      sql`update email set delivered_at = ${at}, sent_at = now() - interval '2 minutes'
        where id = ${id}`.execute(tx),
    );
  }
}
