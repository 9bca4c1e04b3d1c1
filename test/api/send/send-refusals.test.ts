import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import { codeOf } from '../../support/api.ts';
import { useBilling } from '../../support/projects/billed-project.ts';
import { newAddress, refusal, useShop } from '../../support/projects/shop.ts';

describe('a request that fails at its second recipient', async () => {
  const shop = await useShop();

  /** Makes the next insert of a mail to an address fail with an SQLSTATE. */
  async function failOnce(address: string, sqlState: string): Promise<void> {
    const { db } = shop.api;
    await sql`drop function if exists fail cascade`.execute(db);
    await sql`drop sequence if exists failures`.execute(db);
    await sql`create sequence failures`.execute(db);
    await sql`create function fail() returns trigger language plpgsql as $$ begin
        if new.to_email = ${sql.lit(address)} and nextval('failures') = 1 then
          raise exception 'broken' using errcode = ${sql.lit(sqlState)};
        end if;
        return new;
      end $$`.execute(db);
    await sql`create trigger fail before insert on email for each row execute function fail()`.execute(
      db,
    );
  }

  it.each([
    ['57P01', 503, 'SERVICE_UNAVAILABLE'],
    ['XX000', 500, 'INTERNAL_SERVER_ERROR'],
  ])('by %s names the mail of the first', async (sqlState, ...expected) => {
    const [first, second] = [newAddress(), newAddress()];
    await failOnce(second, sqlState);
    const failed = await shop.send({ to: [first, second] });
    const [mail] = await shop.emailsTo(first);
    expect(refusal(failed)).toEqual(expected);
    expect(failed.body.error.details).toEqual({
      emails: [{ contact: { id: mail!.contact_id, email: first }, email: mail!.id }],
    });
    expect(await shop.emailsTo(second)).toEqual([]);
  });
});

describe('a project that has used up its mail', async () => {
  const billing = await useBilling();

  it('is refused before its recipients are checked, be it one or several', async () => {
    const project = await billing.billedProject();
    await billing.sent(project.id, 10);
    const { body: template } = await billing.api.request('POST', '/templates', {
      key: project.secretKey,
      body: { name: 'News', subject: 's', body: 'b', type: 'MARKETING' },
    });
    // None of them is subscribed.
    for (const to of [newAddress(), [newAddress()], [newAddress(), newAddress()]]) {
      const answer = await project.send(to, { template: template.id });
      expect(codeOf(answer)).toEqual([402, 'BILLING_LIMIT_EXCEEDED']);
    }
    expect(codeOf(await project.send([]))).toEqual([200, undefined]);
  });
});
