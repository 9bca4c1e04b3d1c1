import { sql } from 'kysely';
import { expect, it } from 'vitest';
import { readDeliveries } from '../../../db/subscriptions/due.ts';
import type { Target } from '../../../db/subscriptions/sending.ts';
import type { Candidate, Unit } from '../../../domain/subscription/choice.ts';
import { useApi } from '../../support/api.ts';
import { rowsRead } from '../../support/rows-read.ts';

const api = await useApi();
const { db } = api;

it('a batch reads the contacts of a small table once, not for each event', async () => {
  const contacts = 2_000;
  const { id: projectId, secretKey: key } = await api.createProject((await api.signUp()).cookie);
  const body = { url: 'https://hooks.shop.example/all', events: ['order.*'] };
  const { body: subscription } = await api.request('POST', '/event-subscriptions', { key, body });
  await sql`insert into contact (project_id, email, subscribed)
    select ${projectId}, 'no' || n || '@people.test', true
      from generate_series(1, ${contacts}::int) n`.execute(db);
  await sql`analyze contact`.execute(db);
  const { rows } = await sql<Candidate>`
    with recorded as (
      insert into event (project_id, contact_id, name, data)
        select project_id, id, 'order.paid', '{"total": 5}' from contact
          where project_id = ${projectId} limit 100
        returning id, project_id, contact_id, name, created_at, recorded_at
    )
    insert into event_delivery (subscription_id, event_id, project_id, contact_id, event_name,
        created_at, recorded_at, epoch, due_at)
      select subscription.id, recorded.id, recorded.project_id, contact_id, recorded.name,
          recorded.created_at, recorded_at, epoch, now()
        from recorded join event_subscription subscription on subscription.id = ${subscription.id}
      returning event_id as "eventId", contact_id as "contactId", turn`.execute(db);
  expect(rows).toHaveLength(100);
  const target = { id: subscription.id, projectId } as Target;
  const unit: Unit = { deliveries: rows, isRetry: false, batchId: null };
  const read = () => readDeliveries(db, target, unit, 1_000_000);
  expect(await rowsRead(db, read)).toBeLessThanOrEqual(10_000);
  expect((await read()).filter(({ event, contact }) => event && contact)).toHaveLength(100);
});
