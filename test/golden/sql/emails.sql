delete from attachment
where id in (
  select id
  from attachment
  where created_at < $1 and coalesce(kept_from < $2, true) and not exists (
    select
    from email
    where email.project_id = attachment.project_id and email.attachments <> '[]' and email.status in
        ('PENDING', 'SENDING') and email.attachments @>
        jsonb_build_array(jsonb_build_object('attachmentId', attachment.id)))
  order by created_at
  limit $3)

delete from mailbox_message
where id in (
  select id
  from mailbox_message
  where id in (
    select id
    from mailbox_message
    order by received_at desc, id desc offset $1::int )
  for update skip locked )

delete from report_receipt
where created_at < now() - make_interval(hours => $1::int) and ctid = any (array(
    select ctid
    from report_receipt
    where created_at < now() - make_interval(hours => $2::int)
    limit $3))

delete from token_bucket
where key = $1

insert into mailbox_message (id, sender, recipient, subject, raw)
values ($1, $2, $3, $4, $5)
on conflict (id) do nothing

insert into report_receipt (id)
select unnest($1::text[])
on conflict do nothing
returning id

select (
  select ((
      select count(*)
      from email_moment inner_counted
      where project_id = $1 and kind = 1 and at >= since and at < days_from and at <= until) + (
      select count(*)
      from email_moment inner_counted
      where project_id = $2 and kind = 1 and at >= days_to and at <= until) + (
      select coalesce(sum(count), 0)
      from email_tally inner_tally
      where project_id = $3 and kind = 1 and day >= (days_from at time zone 'UTC')::date and day <
          (days_to at time zone 'UTC')::date))::float8
  from (
    select since, until, days_from, greatest(days_from, least(coalesce((
            select inner_mark.at
            from watermark inner_mark
            where inner_mark.name = 'email_tally'), timestamptz '-infinity'), date_trunc('day',
                until + interval '1 millisecond', 'UTC'))) as days_to
    from (
      select since, until, date_trunc('day', since - interval '1 microsecond', 'UTC') + interval '24
          hours' as days_from
      from (
        select $4::timestamptz as since, timestamptz 'infinity' as until) inner_given) inner_begun)
            inner_days) as email_sent, (
  select ((
      select count(*)
      from email_moment inner_counted
      where project_id = $5 and kind = 3 and at >= since and at < days_from and at <= until) + (
      select count(*)
      from email_moment inner_counted
      where project_id = $6 and kind = 3 and at >= days_to and at <= until) + (
      select coalesce(sum(count), 0)
      from email_tally inner_tally
      where project_id = $7 and kind = 3 and day >= (days_from at time zone 'UTC')::date and day <
          (days_to at time zone 'UTC')::date))::float8
  from (
    select since, until, days_from, greatest(days_from, least(coalesce((
            select inner_mark.at
            from watermark inner_mark
            where inner_mark.name = 'email_tally'), timestamptz '-infinity'), date_trunc('day',
                until + interval '1 millisecond', 'UTC'))) as days_to
    from (
      select since, until, date_trunc('day', since - interval '1 microsecond', 'UTC') + interval '24
          hours' as days_from
      from (
        select $8::timestamptz as since, timestamptz 'infinity' as until) inner_given) inner_begun)
            inner_days) as email_opened, (
  select ((
      select count(*)
      from email_moment inner_counted
      where project_id = $9 and kind = 4 and at >= since and at < days_from and at <= until) + (
      select count(*)
      from email_moment inner_counted
      where project_id = $10 and kind = 4 and at >= days_to and at <= until) + (
      select coalesce(sum(count), 0)
      from email_tally inner_tally
      where project_id = $11 and kind = 4 and day >= (days_from at time zone 'UTC')::date and day <
          (days_to at time zone 'UTC')::date))::float8
  from (
    select since, until, days_from, greatest(days_from, least(coalesce((
            select inner_mark.at
            from watermark inner_mark
            where inner_mark.name = 'email_tally'), timestamptz '-infinity'), date_trunc('day',
                until + interval '1 millisecond', 'UTC'))) as days_to
    from (
      select since, until, date_trunc('day', since - interval '1 microsecond', 'UTC') + interval '24
          hours' as days_from
      from (
        select $12::timestamptz as since, timestamptz 'infinity' as until) inner_given) inner_begun)
            inner_days) as email_clicked, (
  select count(*)::float8
  from execution
  where project_id = $13 and exists (
    select
    from workflow inner_workflow
    where inner_workflow.id = workflow_id) and date_trunc('milliseconds', started_at at time zone
        'UTC') >= $14::timestamptz at time zone 'UTC') as workflow_started

select ((
    select count(*)
    from (
      select
      from (
        select inner_waiting.due_at, inner_waiting.email_id, inner_waiting.waits_for
        from email_queue inner_waiting
        where inner_waiting.project_id = $1 and inner_waiting.campaign_id is null and
            inner_waiting.lease_until is null) waiting
      where due_at <= now() or waits_for is not null
      limit $2) mail) + coalesce((
      select sum(cardinality(email_ids))
      from campaign_chunk
      where project_id = $3 and attempt_id is null and exists (
        select
        from campaign
        where campaign.id = campaign_id and status = 'SENDING') and (due_at <= now() or waits_for is
            not null)), 0))::int as due, ((
    select count(*)
    from (
      select
      from (
        select inner_waiting.due_at, inner_waiting.email_id, inner_waiting.waits_for
        from email_queue inner_waiting
        where inner_waiting.project_id = $4 and inner_waiting.campaign_id is null and
            inner_waiting.lease_until is null) waiting
      where waits_for is not null
      limit $5) mail) + coalesce((
      select sum(cardinality(email_ids))
      from campaign_chunk
      where project_id = $6 and attempt_id is null and exists (
        select
        from campaign
        where campaign.id = campaign_id and status = 'SENDING') and waits_for is not null), 0))::int
            as down, least((
    select min(due_at)
    from (
      select inner_waiting.due_at, inner_waiting.email_id, inner_waiting.waits_for
      from email_queue inner_waiting
      where inner_waiting.project_id = $7 and inner_waiting.campaign_id is null and
          inner_waiting.lease_until is null) waiting
    where due_at <= now()), (
    select min(due_at)
    from campaign_chunk
    where project_id = $8 and attempt_id is null and exists (
      select
      from campaign
      where campaign.id = campaign_id and status = 'SENDING') and due_at <= now())) as
          "oldestDueAt", ((
    select count(*)
    from (
      select
      from (
        select lease_until
        from email_queue
        where project_id = $9 and lease_until is not null) claimed
      where lease_until >= now()
      limit $10) mail) + coalesce((
      select sum(cardinality(email_ids))
      from campaign_chunk
      where project_id = $11 and attempt_id is not null and lease_until >= now()), 0))::int as
          sending, ((
    select count(*)
    from (
      select
      from (
        select lease_until
        from email_queue
        where project_id = $12 and lease_until is not null) claimed
      where lease_until < now()
      limit $13) mail) + coalesce((
      select sum(cardinality(email_ids))
      from campaign_chunk
      where project_id = $14 and attempt_id is not null and lease_until < now()), 0))::int as
          unknown, ((
    select count(*)
    from (
      select
      from (
        select due_at, email_id
        from (
          select inner_waiting.due_at, inner_waiting.email_id, inner_waiting.waits_for
          from email_queue inner_waiting
          where inner_waiting.project_id = $15 and inner_waiting.campaign_id is null and
              inner_waiting.lease_until is null) waiting
        where waits_for is null) waiting
      join email on id = email_id
      where (waiting.due_at > now() and attempts > 0 and coalesce(scheduled_for < waiting.due_at,
          true)) and not (hold_reason is not null and held_until > now())
      limit $16) mail) + coalesce((
      select sum(cardinality(email_ids))
      from campaign_chunk
      where project_id = $17 and attempt_id is null and exists (
        select
        from campaign
        where campaign.id = campaign_id and status = 'SENDING') and due_at > now() and due_at <
            $18::timestamptz and waits_for is null and not exists (
        select
        from email inner_scheduled
        where inner_scheduled.id = any(campaign_chunk.email_ids) and inner_scheduled.scheduled_for =
            campaign_chunk.due_at)), 0))::int as retry, ((
    select count(*)
    from (
      select
      from (
        select due_at, email_id
        from (
          select inner_waiting.due_at, inner_waiting.email_id, inner_waiting.waits_for
          from email_queue inner_waiting
          where inner_waiting.project_id = $19 and inner_waiting.campaign_id is null and
              inner_waiting.lease_until is null) waiting
        where waits_for is null) waiting
      join email on id = email_id
      where waiting.due_at > now() and not (waiting.due_at > now() and attempts > 0 and
          coalesce(scheduled_for < waiting.due_at, true)) and not (hold_reason is not null and
          held_until > now())
      limit $20) mail) + coalesce((
      select sum(cardinality(email_ids))
      from campaign_chunk
      where project_id = $21 and attempt_id is null and exists (
        select
        from campaign
        where campaign.id = campaign_id and status = 'SENDING') and due_at > now() and due_at <
            $22::timestamptz and waits_for is null and exists (
        select
        from email inner_scheduled
        where inner_scheduled.id = any(campaign_chunk.email_ids) and inner_scheduled.scheduled_for =
            campaign_chunk.due_at)), 0))::int as scheduled, ((
    select count(*)
    from (
      select
      from (
        select email_id
        from email_queue
        where project_id = $23 and held_until > now()) held
      join email on id = email_id
      where hold_reason = 'quiet_hours'
      limit $24) mail))::int as "quietHours", ((
    select count(*)
    from (
      select
      from (
        select email_id
        from email_queue
        where project_id = $25 and held_until > now()) held
      join email on id = email_id
      where hold_reason = 'frequency_cap'
      limit $26) mail))::int as "frequencyCap", ((
    select count(*)
    from (
      select
      from (
        select email_id
        from email_queue
        where project_id = $27 and held_until > now()) held
      join email on id = email_id
      where hold_reason = 'warm_up'
      limit $28) mail))::int as "warmUp", ((
    select count(*)
    from (
      select
      from (
        select email_id
        from email_queue
        where project_id = $29 and held_until > now()) held
      join email on id = email_id
      where hold_reason = 'operator'
      limit $30) mail))::int as operator

select (count(*) filter (
    where at > now() - make_interval(secs => $1)))::int as sent, coalesce(extract(epoch from now() -
        min(at) filter (
      where at > now() - make_interval(secs => $2))), 0)::float8 as seconds, coalesce(bool_or(not at
          > now() - make_interval(secs => $3)), false) as "wasSending"
from (
  select inner_moment.at, inner_moment.email_id
  from email_moment inner_moment
  where inner_moment.project_id = $4 and inner_moment.kind = 1 and at > now() - make_interval(secs
      => $5)) moment

select case when min(due_at) is not null then least(case when min(due_at) is not null then
    greatest(0, ceil(extract(epoch from min(due_at) - clock_timestamp()) * 1000)::float8) end, $1)
    end as ms
from (
  select inner_waiting.due_at, inner_waiting.email_id, inner_waiting.waits_for
  from email_queue inner_waiting
  where inner_waiting.project_id = $2 and inner_waiting.campaign_id is null and
      inner_waiting.lease_until is null) waiting

select count(*)::int as count, (exists (
    select
    from send_policy inner_policy
    where inner_policy.project_id = $1 and (inner_policy.quiet_hours is not null or
        inner_policy.caps <> '[]')) or exists (
    select
    from holdout inner_holdout
    where inner_holdout.project_id = $2 and inner_holdout.slots > 0 and (inner_holdout.ends_at is
        null or inner_holdout.ends_at > now())) or exists (
    select
    from ramp inner_ramp
    where inner_ramp.project_id = $3 and inner_ramp.status <> 'DONE')) as "isPoliced", exists (
  select
  from mail_routing inner_routing
  where inner_routing.project_id = $4) as "isRouted"
from (
  select
  from (
    select inner_waiting.due_at, inner_waiting.email_id, inner_waiting.waits_for
    from email_queue inner_waiting
    where inner_waiting.project_id = $5 and inner_waiting.campaign_id is null and
        inner_waiting.lease_until is null) waiting
  where due_at <= now()
  limit $6) due

select count(*)::int as total
from email
where email.campaign_id = $1 and email.project_id = $2 and ((((email.status = 'FAILED' and
    email.error is not null and left(coalesce(email.refusal, email.error), 40) = $3)) or
    ((email.status = 'FAILED' and email.error is not null and left(coalesce(email.refusal,
    email.error), 40) = $4)) or ((email.status = 'FAILED' and email.error is not null and
    left(coalesce(email.refusal, email.error), 40) = $5)) or ((email.status = 'FAILED' and
    email.error is not null and left(coalesce(email.refusal, email.error), 40) = $6)) or
    ((email.status = 'FAILED' and email.error is not null and left(coalesce(email.refusal,
    email.error), 40) = $7)) or ((email.status = 'FAILED' and email.error is not null and
    left(coalesce(email.refusal, email.error), 40) = $8)) or ((email.status = 'FAILED' and
    email.error is not null and left(coalesce(email.refusal, email.error), 40) = $9)) or
    ((email.status = 'FAILED' and email.error is not null and left(coalesce(email.refusal,
    email.error), 40) = $10)) or ((email.status = 'FAILED' and email.error is not null and
    left(coalesce(email.refusal, email.error), 40) = $11)) or ((email.status = 'FAILED' and
    email.error is not null and left(coalesce(email.refusal, email.error), 40) = $12)) or
    ((email.status = 'FAILED' and email.error is not null and left(coalesce(email.refusal,
    email.error), 40) = $13)) or ((email.status = 'FAILED' and email.error is not null and
    left(coalesce(email.refusal, email.error), 40) = $14)) or ((email.status = 'FAILED' and
    email.error is not null and left(coalesce(email.refusal, email.error), 40) = $15)) or
    ((email.status = 'FAILED' and email.error is not null and left(coalesce(email.refusal,
    email.error), 40) = $16)) or ((email.status = 'FAILED' and email.error is not null and
    left(coalesce(email.refusal, email.error), 40) = $17)) or ((email.status = 'FAILED' and
    email.error is not null and left(coalesce(email.refusal, email.error), 40) = $18))))

select count(*)::int as total
from email
where email.campaign_id = $1 and email.project_id = $2 and (email.bounced_at is not null)

select count(*)::int as total
from email
where email.template_id = $1 and email.project_id = $2 and (email.opened_at is not null)

select count(*)::int as total
from email
where project_id = $1

select count(distinct contact_id)::int as count
from email
where template_id = $1 and project_id = $2 and unsubscribed_at is not null

select granted, wait_ms
from take_sending_tokens($1::text[], $2::float8[], $3, $4)

select id as email_id, contact_id, campaign_id, body, body_template, body_values
from email
where project_id = $1 and id = any($2::uuid[])

select id, created_at
from (
  select inner_checked.id, inner_checked.created_at
  from email inner_checked
  where inner_checked.campaign_id = $1 and inner_checked.project_id = $2 and
      inner_checked.bounced_at is not null and true
  order by inner_checked.created_at desc, inner_checked.id desc
  limit $3) checked
order by created_at desc, id desc offset $4
limit 1

select id, created_at
from (
  select inner_checked.id, inner_checked.created_at
  from email inner_checked
  where inner_checked.campaign_id = $1 and inner_checked.project_id = $2 and true and true
  order by inner_checked.created_at desc, inner_checked.id desc
  limit $3) checked
order by created_at desc, id desc offset $4
limit 1

select id, created_at
from (
  select inner_checked.id, inner_checked.created_at
  from email inner_checked
  where inner_checked.template_id = $1 and inner_checked.project_id = $2 and true and true
  order by inner_checked.created_at desc, inner_checked.id desc
  limit $3) checked
order by created_at desc, id desc offset $4
limit 1

select id, created_at
from (
  select part.id, part.created_at
  from ((
      select inner_checked.id, inner_checked.created_at
      from email inner_checked
      where inner_checked.campaign_id = $1 and inner_checked.project_id = $2 and
          (inner_checked.status = 'FAILED' and inner_checked.error is not null and
          left(coalesce(inner_checked.refusal, inner_checked.error), 40) = $3) and true
      order by inner_checked.created_at desc, inner_checked.id desc
      limit $4)
    union all (
      select inner_checked.id, inner_checked.created_at
      from email inner_checked
      where inner_checked.campaign_id = $5 and inner_checked.project_id = $6 and
          (inner_checked.status = 'FAILED' and inner_checked.error is not null and
          left(coalesce(inner_checked.refusal, inner_checked.error), 40) = $7) and true
      order by inner_checked.created_at desc, inner_checked.id desc
      limit $8)
    union all (
      select inner_checked.id, inner_checked.created_at
      from email inner_checked
      where inner_checked.campaign_id = $9 and inner_checked.project_id = $10 and
          (inner_checked.status = 'FAILED' and inner_checked.error is not null and
          left(coalesce(inner_checked.refusal, inner_checked.error), 40) = $11) and true
      order by inner_checked.created_at desc, inner_checked.id desc
      limit $12)
    union all (
      select inner_checked.id, inner_checked.created_at
      from email inner_checked
      where inner_checked.campaign_id = $13 and inner_checked.project_id = $14 and
          (inner_checked.status = 'FAILED' and inner_checked.error is not null and
          left(coalesce(inner_checked.refusal, inner_checked.error), 40) = $15) and true
      order by inner_checked.created_at desc, inner_checked.id desc
      limit $16)
    union all (
      select inner_checked.id, inner_checked.created_at
      from email inner_checked
      where inner_checked.campaign_id = $17 and inner_checked.project_id = $18 and
          (inner_checked.status = 'FAILED' and inner_checked.error is not null and
          left(coalesce(inner_checked.refusal, inner_checked.error), 40) = $19) and true
      order by inner_checked.created_at desc, inner_checked.id desc
      limit $20)
    union all (
      select inner_checked.id, inner_checked.created_at
      from email inner_checked
      where inner_checked.campaign_id = $21 and inner_checked.project_id = $22 and
          (inner_checked.status = 'FAILED' and inner_checked.error is not null and
          left(coalesce(inner_checked.refusal, inner_checked.error), 40) = $23) and true
      order by inner_checked.created_at desc, inner_checked.id desc
      limit $24)
    union all (
      select inner_checked.id, inner_checked.created_at
      from email inner_checked
      where inner_checked.campaign_id = $25 and inner_checked.project_id = $26 and
          (inner_checked.status = 'FAILED' and inner_checked.error is not null and
          left(coalesce(inner_checked.refusal, inner_checked.error), 40) = $27) and true
      order by inner_checked.created_at desc, inner_checked.id desc
      limit $28)
    union all (
      select inner_checked.id, inner_checked.created_at
      from email inner_checked
      where inner_checked.campaign_id = $29 and inner_checked.project_id = $30 and
          (inner_checked.status = 'FAILED' and inner_checked.error is not null and
          left(coalesce(inner_checked.refusal, inner_checked.error), 40) = $31) and true
      order by inner_checked.created_at desc, inner_checked.id desc
      limit $32)
    union all (
      select inner_checked.id, inner_checked.created_at
      from email inner_checked
      where inner_checked.campaign_id = $33 and inner_checked.project_id = $34 and
          (inner_checked.status = 'FAILED' and inner_checked.error is not null and
          left(coalesce(inner_checked.refusal, inner_checked.error), 40) = $35) and true
      order by inner_checked.created_at desc, inner_checked.id desc
      limit $36)
    union all (
      select inner_checked.id, inner_checked.created_at
      from email inner_checked
      where inner_checked.campaign_id = $37 and inner_checked.project_id = $38 and
          (inner_checked.status = 'FAILED' and inner_checked.error is not null and
          left(coalesce(inner_checked.refusal, inner_checked.error), 40) = $39) and true
      order by inner_checked.created_at desc, inner_checked.id desc
      limit $40)
    union all (
      select inner_checked.id, inner_checked.created_at
      from email inner_checked
      where inner_checked.campaign_id = $41 and inner_checked.project_id = $42 and
          (inner_checked.status = 'FAILED' and inner_checked.error is not null and
          left(coalesce(inner_checked.refusal, inner_checked.error), 40) = $43) and true
      order by inner_checked.created_at desc, inner_checked.id desc
      limit $44)
    union all (
      select inner_checked.id, inner_checked.created_at
      from email inner_checked
      where inner_checked.campaign_id = $45 and inner_checked.project_id = $46 and
          (inner_checked.status = 'FAILED' and inner_checked.error is not null and
          left(coalesce(inner_checked.refusal, inner_checked.error), 40) = $47) and true
      order by inner_checked.created_at desc, inner_checked.id desc
      limit $48)
    union all (
      select inner_checked.id, inner_checked.created_at
      from email inner_checked
      where inner_checked.campaign_id = $49 and inner_checked.project_id = $50 and
          (inner_checked.status = 'FAILED' and inner_checked.error is not null and
          left(coalesce(inner_checked.refusal, inner_checked.error), 40) = $51) and true
      order by inner_checked.created_at desc, inner_checked.id desc
      limit $52)
    union all (
      select inner_checked.id, inner_checked.created_at
      from email inner_checked
      where inner_checked.campaign_id = $53 and inner_checked.project_id = $54 and
          (inner_checked.status = 'FAILED' and inner_checked.error is not null and
          left(coalesce(inner_checked.refusal, inner_checked.error), 40) = $55) and true
      order by inner_checked.created_at desc, inner_checked.id desc
      limit $56)
    union all (
      select inner_checked.id, inner_checked.created_at
      from email inner_checked
      where inner_checked.campaign_id = $57 and inner_checked.project_id = $58 and
          (inner_checked.status = 'FAILED' and inner_checked.error is not null and
          left(coalesce(inner_checked.refusal, inner_checked.error), 40) = $59) and true
      order by inner_checked.created_at desc, inner_checked.id desc
      limit $60)
    union all (
      select inner_checked.id, inner_checked.created_at
      from email inner_checked
      where inner_checked.campaign_id = $61 and inner_checked.project_id = $62 and
          (inner_checked.status = 'FAILED' and inner_checked.error is not null and
          left(coalesce(inner_checked.refusal, inner_checked.error), 40) = $63) and true
      order by inner_checked.created_at desc, inner_checked.id desc
      limit $64)) part
  order by part.created_at desc, part.id desc
  limit $65) checked
order by created_at desc, id desc offset $66
limit 1

select key, tokens + extract(epoch from clock_timestamp() - refilled_at)::float8 * rate as tokens
from token_bucket
join unnest($1::text[], $2::float8[]) as wanted(key, rate) using (key)

update system_mail
set next_reconcile_at = now() + interval '10 minutes'
where id in (
  select id
  from system_mail
  where next_reconcile_at < now()
  limit $1
  for update skip locked)
returning id, project_id, kind

with changed as (
  update email
  set status = given.status, error = given.error, refusal = given.refusal, message_id =
      given.message_id, sent_at = given.sent_at, delivered_at = given.delivered_at, opened_at =
      given.opened_at, clicked_at = given.clicked_at, bounced_at = given.bounced_at, complained_at =
      given.complained_at, unsubscribed_at = given.unsubscribed_at, bounce_listed =
      given.bounce_listed, complaint_listed = given.complaint_listed, opens = given.opens, clicks =
      given.clicks, delivery_unreported = given.delivery_unreported, lease_until = null, provider_id
      = email.provider_id, trace = email.trace || given.trace, updated_at = now()
  from jsonb_to_recordset($1::jsonb) as given(id uuid, status text, error text, refusal text,
      message_id text, sent_at timestamptz, delivered_at timestamptz, opened_at timestamptz,
      clicked_at timestamptz, bounced_at timestamptz, complained_at timestamptz, unsubscribed_at
      timestamptz, bounce_listed boolean, complaint_listed boolean, opens int, clicks int,
      delivery_unreported boolean, trace jsonb)
  where email.id = given.id
  returning email.id ), moment_change as (
  select project_id, kind, at, email_id, is_gone
  from jsonb_to_recordset($2::jsonb) as given(project_id uuid, kind smallint, at timestamptz,
      email_id uuid, is_gone boolean) ), moment_gone as (
  delete from email_moment
  where (project_id, kind, at, email_id) in (
    select project_id, kind, at, email_id
    from moment_change
    where is_gone)
  returning project_id, kind, at ), moment_added as (
  insert into email_moment (project_id, kind, at, email_id)
  select project_id, kind, at, email_id
  from moment_change
  where not is_gone
  on conflict do nothing
  returning project_id, kind, at ), moment_counted as (
  insert into email_tally (project_id, kind, day, count)
  select project_id, kind, (at at time zone 'UTC')::date, sum(count)
  from (
    select project_id, kind, at, -1 as count
    from moment_gone
    union all
    select project_id, kind, at, 1 as count
    from moment_added) as moment
  where at < now() - interval '24 hours'
  group by 1, 2, 3 having sum(count) <> 0)
select

with derivable as (
  select name, (
    select array_agg(id)
    from event_subscription
    where project_id = $1 and enabled and exists (
      select
      from unnest(events) as inner_item
      where inner_item in ('*', named.name) or right(inner_item, 2) = '.*' and
          starts_with(named.name, left(inner_item, -1)))) as "subscriptionIds"
  from (
    values ('email.sent'::text), ('email.delivery'::text)) as named(name)
  where not exists (
    select
    from workflow
    where project_id = $2 and trigger_event_name = named.name and enabled and trigger_type =
        'EVENT') and not exists (
    select
    from exit_event
    where project_id = $3 and event_name = named.name) and not exists (
    select
    from goal
    where project_id = $4 and event_name = named.name) and not exists (
    select
    from unnest($5::uuid[]) as receiver(id)
    join wait on wait.contact_id = receiver.id
    where wait.event_name = named.name and wait.event_id is null) ), settled as (
  update email
  set status = 'DELIVERED', message_id = accepted.message_id, attempts = 1, handed_over_at =
      $6::timestamptz, sent_at = statement_timestamp(), delivered_at = statement_timestamp(),
      delivery_unreported = false, derived_events = 3, from_name = $7, reply_to = $8,
      content_version = $9, subject = accepted.subject, body_template = $10, body_values =
      accepted.body_values, updated_at = now()
  from jsonb_to_recordset($11::jsonb) as accepted(id uuid, message_id text, subject text,
      body_values jsonb)
  where email.id = accepted.id and email.id = any($12::uuid[]) and email.status = 'PENDING' and
      email.attempts = 0
  returning email.id, email.project_id, email.contact_id, email.campaign_id, email.source_type,
      email.message_class, email.status, email.error, email.refusal, email.due_at,
      email.lease_until, email.hold_reason, email.held_until, email.waits_for, email.ramp_id,
      email.message_id, email.created_at, email.sent_at, email.delivered_at, email.opened_at,
      email.clicked_at, email.bounced_at, email.complained_at, email.unsubscribed_at,
      email.human_opened_at, email.human_clicked_at, email.bounce_listed, email.complaint_listed,
      email.billed_units, email.allowance_month, email.derived_events ), total as (
  select count(*)::int as count, min(sent_at) as at
  from settled ), counted as (
  update campaign
  set sent_count = sent_count + total.count, delivered_count = delivered_count + case when true then
      total.count else 0 end, unreported_count = unreported_count + case when false then total.count
      else 0 end, assumed_count = assumed_count + case when false then total.count else 0 end,
      refused_in_row = 0
  from total
  where campaign.id = $13 ), tallied as (
  insert into event_tally (project_id, name, day, count)
  select $14, name, (at at time zone 'UTC')::date, count
  from total
  cross join (
    values ('email.sent'), ('email.delivery')) as event(name) ), ledger_accepted as (
  insert into email_moment (project_id, kind, at, email_id)
  select project_id, moment.kind, moment.at, id
  from settled
  cross join lateral (
    values (1::smallint, sent_at), (2::smallint, delivered_at)) as moment(kind, at)
  where moment.at is not null), ledger_ids_added as (
  insert into provider_message (message_id, email_id)
  select message_id, id as email_id
  from settled as email
  where source_type <> 'INBOUND' and left(message_id, 36) <> id::text and not exists (
    select
    from provider_message inner_known
    where inner_known.message_id = email.message_id and inner_known.email_id = email.id)),
        ledger_late_added as (
  insert into late_mail (contact_id, sent_at, email_id)
  select contact_id, sent_at, id as email_id
  from settled
  where sent_at - created_at > interval '24 hours' and message_class = 'MARKETING' and source_type
      in ('CAMPAIGN', 'WORKFLOW')
  on conflict do nothing), ledger_billed as (
  insert into usage_report (email_id, customer, units, sent_at)
  select sent.id, billed.customer, sent.billed_units, sent.sent_at
  from settled as sent
  cross join lateral (
    select customer
    from project
    where project.id = sent.project_id and customer is not null
    limit 1) as billed
  where sent.sent_at is not null and sent.status <> 'FAILED'
  on conflict do nothing), ended as (
  delete from campaign_chunk
  where attempt_id = $15 ), logged as (
  insert into derived_event_log (project_id, email_ids)
  select $16::uuid, array_agg(id
    order by id)
  from settled
  where derived_events <> 0 and exists (
    select
    from derivable
    where "subscriptionIds" is not null) having count(*) > 0 )
select (
  select array_agg(distinct id)
  from derivable, unnest("subscriptionIds") as id) as "subscriptionIds", count = $17 and (not exists
      (
    values ('email.sent'), ('email.delivery') except
    select name
    from derivable)) as "isUsual"
from total

with due as (
  select id, email.due_at, octet_length(body) as body_bytes
  from (
    select inner_waiting.due_at, inner_waiting.email_id, inner_waiting.waits_for
    from email_queue inner_waiting
    where inner_waiting.project_id = $1 and inner_waiting.campaign_id is null and
        inner_waiting.lease_until is null) waiting
  join email on id = email_id
  where waiting.due_at <= now() and email.due_at <= now() and status = 'PENDING' and ($2 or not
      (exists (
        select
        from send_policy inner_policy
        where inner_policy.project_id = $3 and (inner_policy.quiet_hours is not null or
            inner_policy.caps <> '[]')) or exists (
        select
        from holdout inner_holdout
        where inner_holdout.project_id = $4 and inner_holdout.slots > 0 and (inner_holdout.ends_at
            is null or inner_holdout.ends_at > now())) or exists (
        select
        from ramp inner_ramp
        where inner_ramp.project_id = $5 and inner_ramp.status <> 'DONE')))
  order by waiting.due_at, email_id
  limit $6
  for update of email skip locked ), weighed as (
  select id, coalesce(sum(body_bytes) over (
      order by due_at, id rows between unbounded preceding and 1 preceding), 0) as bytes_before
  from due ), claimed as (
  update email
  set status = 'SENDING', attempt_id = $7, attempts = attempts + 1, waits_for = null, lease_until =
      now() + make_interval(secs => $8), updated_at = now(), trace = email.trace ||
      trace_entry('handed_over', jsonb_build_object('attempt', email.attempts + 1))
  from weighed
  where email.id = weighed.id and bytes_before < $9
  returning email.id, email.project_id, email.contact_id, email.campaign_id, email.source_type,
      email.message_class, email.status, email.error, email.refusal, email.due_at,
      email.lease_until, email.hold_reason, email.held_until, email.waits_for, email.ramp_id,
      email.message_id, email.created_at, email.sent_at, email.delivered_at, email.opened_at,
      email.clicked_at, email.bounced_at, email.complained_at, email.unsubscribed_at,
      email.human_opened_at, email.human_clicked_at, email.bounce_listed, email.complaint_listed,
      email.billed_units, email.allowance_month, email.derived_events, email.workflow_execution_id,
      email.to_name, email.to_email, email.subject, email.body, email.from_email, email.from_name,
      email.reply_to, email.headers, email.attachments, email.link_ids, email.attempts,
      email.scheduled_for, email.retried_at, email.opt_in_id, email.topic_id, email.provider_id,
      (email.attempts > 0 and email.trace @> '[{state: settled}]') as is_bound, case when
      email.attempts > 1 then jsonb_path_query_first(email.trace, '$[*] ? (@.state == handed_over &&
      @.at >= $since)', jsonb_build_object('since', coalesce(to_char(email.retried_at at time zone
      'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'), ''))) ->> 'at' end as first_attempt_at ),
      ledger_unqueued as (
  delete from email_queue
  where email_id = any(array(
      select id
      from claimed
      where not (status = 'SENDING' or status = 'PENDING' and due_at is not null)))), ledger_queued
          as (
  insert into email_queue (email_id, project_id, campaign_id, due_at, lease_until, held_until,
      hold_reason, waits_for, ramp_id)
  select id, project_id, campaign_id, due_at, lease_until, case when status = 'PENDING' and
      hold_reason is not null then held_until end, hold_reason, waits_for, ramp_id
  from claimed
  where (status = 'SENDING' or status = 'PENDING' and due_at is not null)
  on conflict (email_id) do update
  set due_at = excluded.due_at, lease_until = excluded.lease_until, held_until =
      excluded.held_until, hold_reason = excluded.hold_reason, waits_for = excluded.waits_for,
      ramp_id = excluded.ramp_id)
select claimed.id, claimed.project_id, claimed.contact_id, claimed.workflow_execution_id,
    claimed.to_name, claimed.to_email, claimed.subject, claimed.body, claimed.from_email,
    claimed.from_name, claimed.reply_to, claimed.headers, claimed.attachments, claimed.link_ids,
    claimed.message_class, claimed.source_type, claimed.attempts, claimed.created_at,
    claimed.scheduled_for, claimed.held_until, claimed.retried_at, claimed.billed_units,
    claimed.allowance_month, claimed.opt_in_id, claimed.topic_id, claimed.provider_id,
    claimed.first_attempt_at, claimed.is_bound, contact.subscribed as contact_subscribed,
    contact.email as contact_email, project.disabled_reason is not null as project_disabled,
    ((claimed.scheduled_for is not null or claimed.held_until is not null or claimed.retried_at is
    not null) and not exists (
    select
    from domain inner_domain
    where inner_domain.project_id = claimed.project_id and inner_domain.status = 'verified' and
        inner_domain.name = split_part(claimed.from_email, '@', -1))) as sender_gone,
        contact.project_id <> claimed.project_id as contact_gone, (
  select exists (
    select
    from suppression_key inner_address_key where inner_address_key.owner_id = (
      select coalesce(inner_owner_of_key.public_id, inner_owner_of_key.id)
      from project inner_owner_of_key where inner_owner_of_key.id = $10))) as has_suppressions, case
          when claimed.topic_id is null then false else coalesce((
    select not coalesce((
        select inner_choice.subscribed
        from contact_topic inner_choice
        where inner_choice.contact_id = claimed.contact_id and inner_choice.topic_id =
            inner_topic.id), inner_topic.by_default)
    from topic inner_topic
    where inner_topic.id = claimed.topic_id), false) end as topic_left, case when claimed.opt_in_id
        is not null then coalesce( (
    select state
    from opt_in
    where opt_in.id = claimed.opt_in_id), 'gone') end as opt_in_state, project.tracking as
        project_tracking, (
  select inner_tracked.tracking_subdomain || '.' || inner_tracked.name
  from domain inner_tracked
  where inner_tracked.project_id = claimed.project_id and inner_tracked.name =
      split_part(claimed.from_email, '@', -1) and inner_tracked.status = 'verified' and
      inner_tracked.tracking_active) as tracking_host, case when $11 then contact.data end as
      contact_data, case when $12 then (
  select execution.workflow_id
  from execution
  where execution.id = claimed.workflow_execution_id) end as workflow_id,
      coalesce(nullif(contact.data ->> 'locale', ''), project.language) as locale
from claimed
join contact on contact.id = claimed.contact_id
join project on project.id = claimed.project_id
order by claimed.due_at, claimed.id

with failed as (
  update email
  set status = 'FAILED', error = 'project_disabled', updated_at = now(), trace = trace ||
      trace_entry('withheld', '{reason: project_disabled}')
  where status = 'PENDING' and id in (
    select email_id
    from suspension
    cross join lateral (
      select email_id
      from (
        select inner_waiting.due_at, inner_waiting.email_id, inner_waiting.waits_for
        from email_queue inner_waiting
        where inner_waiting.project_id = suspension.project_id and inner_waiting.campaign_id is null
            and inner_waiting.lease_until is null) waiting
      limit $1) late
    where suspension.reason = 'EMAIL_REPUTATION' and suspension.ended_at is null
    limit $2)
  returning email.id, email.project_id, email.contact_id, email.campaign_id, email.source_type,
      email.message_class, email.status, email.error, email.refusal, email.due_at,
      email.lease_until, email.hold_reason, email.held_until, email.waits_for, email.ramp_id,
      email.message_id, email.created_at, email.sent_at, email.delivered_at, email.opened_at,
      email.clicked_at, email.bounced_at, email.complained_at, email.unsubscribed_at,
      email.human_opened_at, email.human_clicked_at, email.bounce_listed, email.complaint_listed,
      email.billed_units, email.allowance_month, email.derived_events ), ledger_unqueued as (
  delete from email_queue
  where email_id = any(array(
      select id
      from failed
      where not (status = 'SENDING' or status = 'PENDING' and due_at is not null)))), ledger_queued
          as (
  insert into email_queue (email_id, project_id, campaign_id, due_at, lease_until, held_until,
      hold_reason, waits_for, ramp_id)
  select id, project_id, campaign_id, due_at, lease_until, case when status = 'PENDING' and
      hold_reason is not null then held_until end, hold_reason, waits_for, ramp_id
  from failed
  where (status = 'SENDING' or status = 'PENDING' and due_at is not null)
  on conflict (email_id) do update
  set due_at = excluded.due_at, lease_until = excluded.lease_until, held_until =
      excluded.held_until, hold_reason = excluded.hold_reason, waits_for = excluded.waits_for,
      ramp_id = excluded.ramp_id), ledger_campaign_counted as (
  insert into campaign_tally (campaign_id, project_id, code, count, sent)
  select campaign_id, project_id, code, sum(count), sum(sent)
  from (
    select campaign_id, project_id, coalesce(refusal, error, '') as code, 1 as count, 1 * (sent_at
        is not null)::int as sent
    from failed
    where campaign_id is not null and status = 'FAILED') as row
  group by 1, 2, 3 having sum(count) <> 0 or sum(sent) <> 0), ledger_allowance_changed as (
  update allowance
  set taken = greatest(taken + change.units, 0)
  from (
    select project_id, month, category, sum(units)::int as units
    from (
      select project_id, allowance_month as month, case failed.source_type when 'WORKFLOW' then
          'workflows' when 'CAMPAIGN' then 'campaigns' else lower(failed.source_type) end as
          category, -1 * billed_units as units
      from failed
      where allowance_month is not null and status = 'FAILED') as part
    group by 1, 2, 3) as change
  where (allowance.project_id, allowance.month, allowance.category) = (change.project_id,
      change.month, change.category))
select
from failed

with held as (
  select key from token_bucket
  where key = any($1::text[])
  order by key for update )
update token_bucket
set tokens = tokens + $2
from held
where token_bucket.key = held.key

with hold as materialized (
  select exists (
    select
    from installation inner_restored
    where inner_restored.held_before is not null and $1::uuid <> all(inner_restored.released) and
        exists (
      select
      from execution inner_begun
      where inner_begun.id = $2::uuid and inner_begun.started_at < inner_restored.held_before)) as
          "isHeld"), made as (
  insert into email (id, project_id, contact_id, to_email, subject, body, link_ids, headers,
      from_email, from_name, reply_to, message_class, source_type, template_id, topic_id,
      workflow_execution_id, workflow_step_execution_id, workflow_step_id, due_at, hold_reason,
      held_until, trace, attachments)
  values ($3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, case
      when (
      select "isHeld"
      from hold) then $21::timestamptz else now() end, case when (
      select "isHeld"
      from hold) then 'operator' else null end, case when (
      select "isHeld"
      from hold) then $22::timestamptz else null end, case when (
      select "isHeld"
      from hold) then trace_entry('held', jsonb_build_object('reason', 'operator', 'until', null))
          else '[]' end, $23)
  on conflict do nothing
  returning email.id, email.project_id, email.contact_id, email.campaign_id, email.source_type,
      email.message_class, email.status, email.error, email.refusal, email.due_at,
      email.lease_until, email.hold_reason, email.held_until, email.waits_for, email.ramp_id,
      email.message_id, email.created_at, email.sent_at, email.delivered_at, email.opened_at,
      email.clicked_at, email.bounced_at, email.complained_at, email.unsubscribed_at,
      email.human_opened_at, email.human_clicked_at, email.bounce_listed, email.complaint_listed,
      email.billed_units, email.allowance_month, email.derived_events), ledger_unqueued as (
  delete from email_queue
  where email_id = any(array(
      select id
      from made
      where not (status = 'SENDING' or status = 'PENDING' and due_at is not null)))), ledger_queued
          as (
  insert into email_queue (email_id, project_id, campaign_id, due_at, lease_until, held_until,
      hold_reason, waits_for, ramp_id)
  select id, project_id, campaign_id, due_at, lease_until, case when status = 'PENDING' and
      hold_reason is not null then held_until end, hold_reason, waits_for, ramp_id
  from made
  where (status = 'SENDING' or status = 'PENDING' and due_at is not null)
  on conflict (email_id) do update
  set due_at = excluded.due_at, lease_until = excluded.lease_until, held_until =
      excluded.held_until, hold_reason = excluded.hold_reason, waits_for = excluded.waits_for,
      ramp_id = excluded.ramp_id)
select id
from made

with made as (
  insert into email (id, allowance_month, project_id, contact_id, to_name, to_email, subject, body,
      link_ids, headers, attachments, from_email, from_name, reply_to, message_class, source_type,
      template_id, topic_id, scheduled_for, caused_by)
  values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20)
  on conflict do nothing
  returning email.id, email.project_id, email.contact_id, email.campaign_id, email.source_type,
      email.message_class, email.status, email.error, email.refusal, email.due_at,
      email.lease_until, email.hold_reason, email.held_until, email.waits_for, email.ramp_id,
      email.message_id, email.created_at, email.sent_at, email.delivered_at, email.opened_at,
      email.clicked_at, email.bounced_at, email.complained_at, email.unsubscribed_at,
      email.human_opened_at, email.human_clicked_at, email.bounce_listed, email.complaint_listed,
      email.billed_units, email.allowance_month, email.derived_events), ledger_unqueued as (
  delete from email_queue
  where email_id = any(array(
      select id
      from made
      where not (status = 'SENDING' or status = 'PENDING' and due_at is not null)))), ledger_queued
          as (
  insert into email_queue (email_id, project_id, campaign_id, due_at, lease_until, held_until,
      hold_reason, waits_for, ramp_id)
  select id, project_id, campaign_id, due_at, lease_until, case when status = 'PENDING' and
      hold_reason is not null then held_until end, hold_reason, waits_for, ramp_id
  from made
  where (status = 'SENDING' or status = 'PENDING' and due_at is not null)
  on conflict (email_id) do update
  set due_at = excluded.due_at, lease_until = excluded.lease_until, held_until =
      excluded.held_until, hold_reason = excluded.hold_reason, waits_for = excluded.waits_for,
      ramp_id = excluded.ramp_id)
select id
from made

with mark as (
  select done_to
  from body_retention
  for update ), page as (
  select email.id
  from email
  where email.id > (
    select done_to
    from mark) and email.id < $1::uuid
  order by email.id
  limit $2 ), emptied as (
  update email
  set body = null, body_template = null, body_values = null
  from page
  where email.id = page.id and email.status not in ('PENDING', 'SENDING') and
      coalesce(email.scheduled_for <= email.created_at, true) and (email.body is not null or
      email.body_values is not null) ), moved as (
  update body_retention
  set done_to = (
    select id
    from page
    order by id desc
    limit 1)
  where exists (
    select
    from page) )
select count(*)::int as rows_read
from page

with mark as (
  select scheduled_done_to, scheduled_done_id
  from body_retention
  for update ), page as (
  select email.id, scheduled_for
  from email
  where (scheduled_for, email.id) > ((
      select scheduled_done_to
      from mark), (
      select scheduled_done_id
      from mark)) and scheduled_for < $1
  order by scheduled_for, email.id
  limit $2 ), emptied as (
  update email
  set body = null, body_template = null, body_values = null
  from page
  where email.id = page.id and email.status not in ('PENDING', 'SENDING') and email.scheduled_for >
      email.created_at and (email.body is not null or email.body_values is not null) ), moved as (
  update body_retention
  set scheduled_done_to = last.scheduled_for, scheduled_done_id = last.id
  from (
    select scheduled_for, id
    from page
    order by scheduled_for desc, id desc
    limit 1) last )
select count(*)::int as rows_read
from page

with page as (
  select ctid as row, project_id, kind, day
  from email_tally
  where fresh
  limit $1 ), gone as (
  delete from email_tally
  where ctid = any(array(
      select row
      from page))
  returning project_id, kind, day, count ), folded as (
  delete from email_tally tally using (
    select distinct project_id, kind, day
    from page) touched
  where (tally.project_id, tally.kind, tally.day) = (touched.project_id, touched.kind, touched.day)
      and not fresh
  returning tally.project_id, tally.kind, tally.day, tally.count ), sums as (
  insert into email_tally (project_id, kind, day, count, fresh)
  select project_id, kind, day, sum(count), false
  from (
    select project_id, kind, day, count
    from gone
    union all
    select project_id, kind, day, count
    from folded) row
  where exists (
    select
    from project
    where id = project_id and removal is null)
  group by 1, 2, 3 having sum(count) <> 0 )
select count(*)::int as count
from page

with page as materialized (
  select contact.consent, contact.created_at, contact.data, contact.email, contact.id,
      contact.project_id, contact.subscribed, contact.updated_at
  from contact
  where project_id = $1 and created_at <= $2 and true
  order by created_at, id
  limit $3), made as (
  insert into email (project_id, contact_id, to_email, subject, from_email, message_class,
      source_type, template_id, topic_id, campaign_id, due_at )
  select $4, contact.id, contact.email, $5, $6, $7, 'CAMPAIGN', $8::uuid, $9, $10, null::timestamptz
  from page as contact
  where contact.subscribed and true
  order by contact.created_at, contact.id
  on conflict (campaign_id, contact_id)
  where campaign_id is not null do nothing
  returning id ), queued as (
  insert into campaign_chunk (campaign_id, project_id, email_ids, due_at)
  select $11, $12, array_agg(id
    order by due_at, id), max(due_at)
  from (
    select id, due_at, greatest(due_at, now()) as moment , (row_number() over ( partition by
        greatest(due_at, now())
        order by due_at, id) - 1) / $13::int as part
    from (
      select id, now() as due_at
      from made) as waiting) as numbered
  group by moment, part
  order by moment, part ), left_out as (
  select count(*) filter (
    where not contact.subscribed)::int as unsubscribed, count(*) filter (
    where contact.subscribed)::int as "topicLeft"
  from page as contact
  where not (contact.subscribed) and true )
select (
  select count(*)::int
  from made) as made, (
  select unsubscribed
  from left_out) as unsubscribed, (
  select "topicLeft"
  from left_out) as "topicLeft", count(*)::int as rows_read, (array_agg(created_at
    order by created_at desc, id desc))[1] as at, (array_agg(id
    order by created_at desc, id desc))[1] as id, false as "isMoved", clock_timestamp()::text as
        "fixedAt"
from page

with recursive active as ( (
    select inner_next.project_id
    from engagement inner_next
    where inner_next.settle_at is not null and inner_next.project_id > $1::uuid
    order by inner_next.project_id
    limit 1)
  union all
  select found.project_id
  from active
  cross join lateral (
    select inner_next.project_id
    from engagement inner_next
    where inner_next.settle_at is not null and inner_next.project_id > active.project_id
    order by inner_next.project_id
    limit 1) found ), page as materialized (
  select project_id, count(*) over () as projects
  from (
    select project_id
    from active
    limit $2) listed )
select page.project_id as "projectId", coalesce(due.ids, '{}') as ids, coalesce(due.contact_ids,
    '{}') as "contactIds"
from page
left join lateral (
  select array_agg(email.id) as ids, array_agg(email.contact_id) as contact_ids
  from (
    select distinct email_id
    from (
      select email_id
      from engagement
      where settle_at is not null and settle_at <= now() and engagement.project_id = page.project_id
      order by settle_at
      limit greatest($3 / page.projects, 1)) earliest) known
  join email on email.id = known.email_id) due on true
order by page.project_id

with recursive awaited(id) as (
  select (
    select least( (
        select waits_for
        from email_queue
        where waits_for > ''
        order by waits_for
        limit 1), (
        select waits_for
        from campaign_chunk
        where waits_for > '' and attempt_id is null
        order by waits_for
        limit 1)))
  union all
  select (
    select least( (
        select waits_for
        from email_queue
        where waits_for > awaited.id
        order by waits_for
        limit 1), (
        select waits_for
        from campaign_chunk
        where waits_for > awaited.id and attempt_id is null
        order by waits_for
        limit 1)))
  from awaited
  where awaited.id is not null )
select id
from awaited
where id is not null

with recursive waiting_of(project_id) as (
  select (
    select inner_next.project_id
    from email_queue inner_next
    where inner_next.campaign_id is null and inner_next.lease_until is null and true
    order by inner_next.project_id
    limit 1)
  union all
  select (
    select inner_next.project_id
    from email_queue inner_next
    where inner_next.campaign_id is null and inner_next.lease_until is null and
        inner_next.project_id > waiting_of.project_id
    order by inner_next.project_id
    limit 1)
  from waiting_of
  where waiting_of.project_id is not null ) (
  select project_id
  from waiting_of
  where exists (
    select
    from mail_routing inner_routing
    where inner_routing.project_id = waiting_of.project_id) and exists (
    select
    from (
      select inner_waiting.due_at, inner_waiting.email_id, inner_waiting.waits_for
      from email_queue inner_waiting
      where inner_waiting.project_id = waiting_of.project_id and inner_waiting.campaign_id is null
          and inner_waiting.lease_until is null) waiting
    where due_at < now() - interval '5 seconds')
  limit $1::int)
union all (
  select project_id
  from waiting_of
  where not exists (
    select
    from mail_routing inner_routing
    where inner_routing.project_id = waiting_of.project_id) and exists (
    select
    from (
      select inner_waiting.due_at, inner_waiting.email_id, inner_waiting.waits_for
      from email_queue inner_waiting
      where inner_waiting.project_id = waiting_of.project_id and inner_waiting.campaign_id is null
          and inner_waiting.lease_until is null) waiting
    where due_at < now() - interval '5 seconds')
  limit (
    select case when count(*) = 0 then $2::int when min(next_probe_at) < now() - interval '5
        seconds' then 1 else 0 end
    from provider_circuit
    where provider = $3 and next_probe_at is not null))

with settled as (
  update email
  set status = outcome.status, message_id = outcome.message_id, error = outcome.error, refusal =
      outcome.refusal, due_at = case outcome.kind when 'again' then now() + make_interval(secs =>
      outcome.delay_ms / 1000.0) when 'released' then greatest(coalesce(email.due_at, now()), case
      when outcome.delay_ms > 0 then now() + make_interval(secs => outcome.delay_ms / 1000.0) end)
      else email.due_at end, retry_at = case when outcome.kind = 'again' then now() +
      make_interval(secs => outcome.delay_ms / 1000.0) else email.retry_at end, attempts =
      email.attempts + $1::int - case when outcome.kind in ('released', 'withheld') then 1 else 0
      end, derived_events = 0, lease_until = case when outcome.status = 'SENDING' then now() end,
      sent_at = case when outcome.kind = 'accepted' then clock_timestamp() end, delivered_at = case
      when outcome.status = 'DELIVERED' then clock_timestamp() end, delivery_unreported =
      outcome.unreported, subject = coalesce(outcome.subject, email.subject), headers = case when
      outcome.subject is null then email.headers else coalesce(outcome.headers, '[]') end, body =
      case when outcome.subject is null then email.body else outcome.body end, body_template = case
      when outcome.subject is null then email.body_template else outcome.body_template end,
      body_values = case when outcome.subject is null then email.body_values else
      outcome.body_values end, trace = case when false then email.trace when outcome.kind =
      'accepted' then email.trace || trace_entry('accepted', jsonb_build_object('messageId',
      outcome.message_id) || case when email.provider_id is null then '{}' else
      jsonb_build_object('providerId', email.provider_id) end) || case when outcome.status =
      'DELIVERED' then trace_entry('delivered', null) else '[]' end when outcome.kind = 'refused'
      then email.trace || trace_entry('refused', jsonb_build_object('error', outcome.error)) when
      outcome.kind = 'again' then email.trace || trace_entry('refused', jsonb_build_object('error',
      outcome.error, 'nextTryInMs', outcome.delay_ms)) when outcome.kind = 'uncertain' then
      email.trace || trace_entry('uncertain', jsonb_build_object('reason', outcome.error)) when
      outcome.kind = 'withheld' then email.trace - (-1) || trace_entry('withheld',
      jsonb_build_object('reason', outcome.error)) else email.trace - (-1) end, updated_at = now()
  from jsonb_to_recordset($2::jsonb) as outcome(id uuid, kind text, status text, message_id text,
      error text, refusal text, unreported boolean, delay_ms int, subject text, body text,
      body_template text, body_values jsonb, headers jsonb)
  where email.id = outcome.id and email.id = any($3::uuid[]) and email.status = 'SENDING' and
      email.attempt_id = any($4::uuid[])
  returning email.id, email.project_id, email.contact_id, email.campaign_id, email.source_type,
      email.message_class, email.status, email.error, email.refusal, email.due_at,
      email.lease_until, email.hold_reason, email.held_until, email.waits_for, email.ramp_id,
      email.message_id, email.created_at, email.sent_at, email.delivered_at, email.opened_at,
      email.clicked_at, email.bounced_at, email.complained_at, email.unsubscribed_at,
      email.human_opened_at, email.human_clicked_at, email.bounce_listed, email.complaint_listed,
      email.billed_units, email.allowance_month, email.derived_events, case when ((email.sent_at is
      not null and email.derived_events & 1 = 0) or (email.delivered_at is not null and
      email.derived_events & 2 = 0)) then jsonb_build_object( 'id', email.id, 'contact_id',
      email.contact_id, 'subject', email.subject, 'from_email', email.from_email, 'from_name',
      email.from_name, 'message_id', email.message_id, 'template_id', email.template_id,
      'campaign_id', email.campaign_id, 'source_type', email.source_type, 'derived_events',
      email.derived_events, 'sent_at', to_char(email.sent_at at time zone 'utc',
      'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'), 'delivered_at', to_char(email.delivered_at at time zone
      'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')) end as "eventSource" ), ledger_accepted as (
  insert into email_moment (project_id, kind, at, email_id)
  select project_id, moment.kind, moment.at, id
  from settled
  cross join lateral (
    values (1::smallint, sent_at), (2::smallint, delivered_at)) as moment(kind, at)
  where moment.at is not null), ledger_ids_added as (
  insert into provider_message (message_id, email_id)
  select message_id, id as email_id
  from settled as email
  where source_type <> 'INBOUND' and left(message_id, 36) <> id::text and not exists (
    select
    from provider_message inner_known
    where inner_known.message_id = email.message_id and inner_known.email_id = email.id)),
        ledger_late_added as (
  insert into late_mail (contact_id, sent_at, email_id)
  select contact_id, sent_at, id as email_id
  from settled
  where sent_at - created_at > interval '24 hours' and message_class = 'MARKETING' and source_type
      in ('CAMPAIGN', 'WORKFLOW')
  on conflict do nothing), ledger_billed as (
  insert into usage_report (email_id, customer, units, sent_at)
  select sent.id, billed.customer, sent.billed_units, sent.sent_at
  from settled as sent
  cross join lateral (
    select customer
    from project
    where project.id = sent.project_id and customer is not null
    limit 1) as billed
  where sent.sent_at is not null and sent.status <> 'FAILED'
  on conflict do nothing), ledger_unqueued as (
  delete from email_queue
  where email_id = any(array(
      select id
      from settled
      where not (status = 'SENDING' or status = 'PENDING' and due_at is not null)))), ledger_queued
          as (
  insert into email_queue (email_id, project_id, campaign_id, due_at, lease_until, held_until,
      hold_reason, waits_for, ramp_id)
  select id, project_id, campaign_id, due_at, lease_until, case when status = 'PENDING' and
      hold_reason is not null then held_until end, hold_reason, waits_for, ramp_id
  from settled
  where (status = 'SENDING' or status = 'PENDING' and due_at is not null)
  on conflict (email_id) do update
  set due_at = excluded.due_at, lease_until = excluded.lease_until, held_until =
      excluded.held_until, hold_reason = excluded.hold_reason, waits_for = excluded.waits_for,
      ramp_id = excluded.ramp_id), ledger_campaign_counted as (
  insert into campaign_tally (campaign_id, project_id, code, count, sent)
  select campaign_id, project_id, code, sum(count), sum(sent)
  from (
    select campaign_id, project_id, coalesce(refusal, error, '') as code, 1 as count, 1 * (sent_at
        is not null)::int as sent
    from settled
    where campaign_id is not null and status = 'FAILED') as row
  group by 1, 2, 3 having sum(count) <> 0 or sum(sent) <> 0), ledger_allowance_changed as (
  update allowance
  set taken = greatest(taken + change.units, 0)
  from (
    select project_id, month, category, sum(units)::int as units
    from (
      select project_id, allowance_month as month, case settled.source_type when 'WORKFLOW' then
          'workflows' when 'CAMPAIGN' then 'campaigns' else lower(settled.source_type) end as
          category, -1 * billed_units as units
      from settled
      where allowance_month is not null and status = 'FAILED') as part
    group by 1, 2, 3) as change
  where (allowance.project_id, allowance.month, allowance.category) = (change.project_id,
      change.month, change.category)), counted as (
  insert into event_tally (project_id, name, day, count)
  select project_id, 'email.sent', (sent_at at time zone 'UTC')::date, 1 * count(*)
  from settled
  where derived_events & 1 <> 0
  group by 1, 3
  union all
  select project_id, 'email.delivery', (delivered_at at time zone 'UTC')::date, 1 * count(*)
  from settled
  where derived_events & 2 <> 0
  group by 1, 3 )
select id, status, sent_at is not null as "isSent", "eventSource"
from settled

with unknown as (
  select email.id, $1 = 'resend' and attempts < $2 and (email.campaign_id is null or exists (
      select
      from campaign
      where campaign.id = email.campaign_id and campaign.status in ('SENDING', 'PAUSED'))) as resend
  from email_queue queued
  join email on email.id = queued.email_id
  where queued.lease_until < now() - make_interval(mins => $3::int) and status = 'SENDING' and
      email.lease_until < now() - make_interval(mins => $4::int)
  limit $5
  for update of email skip locked ), settled as (
  update email
  set status = case when resend then 'PENDING' else 'FAILED' end, error = case when resend then null
      else 'delivery_unknown' end, lease_until = null, updated_at = now(), due_at = case when resend
      and email.campaign_id is null and exists (
    select
    from installation inner_undecided_since
    where email.created_at < inner_undecided_since.held_before and email.project_id <>
        all(inner_undecided_since.released)) then $6::timestamptz else now() end, hold_reason = case
        when resend and email.campaign_id is null and exists (
    select
    from installation inner_undecided_since
    where email.created_at < inner_undecided_since.held_before and email.project_id <>
        all(inner_undecided_since.released)) then 'operator' else email.hold_reason end, held_until
        = case when resend and email.campaign_id is null and exists (
    select
    from installation inner_undecided_since
    where email.created_at < inner_undecided_since.held_before and email.project_id <>
        all(inner_undecided_since.released)) then $7::timestamptz else email.held_until end, trace =
        trace || trace_entry('settled', jsonb_build_object('by', 'policy', 'policy', $8::text)) ||
        case when resend and email.campaign_id is null and exists (
    select
    from installation inner_undecided_since
    where email.created_at < inner_undecided_since.held_before and email.project_id <>
        all(inner_undecided_since.released)) then trace_entry('held', jsonb_build_object('reason',
        'operator', 'until', null)) else '[]' end
  from unknown
  where email.id = unknown.id
  returning email.id, email.project_id, email.contact_id, email.campaign_id, email.source_type,
      email.message_class, email.status, email.error, email.refusal, email.due_at,
      email.lease_until, email.hold_reason, email.held_until, email.waits_for, email.ramp_id,
      email.message_id, email.created_at, email.sent_at, email.delivered_at, email.opened_at,
      email.clicked_at, email.bounced_at, email.complained_at, email.unsubscribed_at,
      email.human_opened_at, email.human_clicked_at, email.bounce_listed, email.complaint_listed,
      email.billed_units, email.allowance_month, email.derived_events ), ledger_unqueued as (
  delete from email_queue
  where email_id = any(array(
      select id
      from settled
      where not (status = 'SENDING' or status = 'PENDING' and due_at is not null)))), ledger_queued
          as (
  insert into email_queue (email_id, project_id, campaign_id, due_at, lease_until, held_until,
      hold_reason, waits_for, ramp_id)
  select id, project_id, campaign_id, due_at, lease_until, case when status = 'PENDING' and
      hold_reason is not null then held_until end, hold_reason, waits_for, ramp_id
  from settled
  where (status = 'SENDING' or status = 'PENDING' and due_at is not null)
  on conflict (email_id) do update
  set due_at = excluded.due_at, lease_until = excluded.lease_until, held_until =
      excluded.held_until, hold_reason = excluded.hold_reason, waits_for = excluded.waits_for,
      ramp_id = excluded.ramp_id), ledger_campaign_counted as (
  insert into campaign_tally (campaign_id, project_id, code, count, sent)
  select campaign_id, project_id, code, sum(count), sum(sent)
  from (
    select campaign_id, project_id, coalesce(refusal, error, '') as code, 1 as count, 1 * (sent_at
        is not null)::int as sent
    from settled
    where campaign_id is not null and status = 'FAILED') as row
  group by 1, 2, 3 having sum(count) <> 0 or sum(sent) <> 0), ledger_allowance_changed as (
  update allowance
  set taken = greatest(taken + change.units, 0)
  from (
    select project_id, month, category, sum(units)::int as units
    from (
      select project_id, allowance_month as month, case settled.source_type when 'WORKFLOW' then
          'workflows' when 'CAMPAIGN' then 'campaigns' else lower(settled.source_type) end as
          category, -1 * billed_units as units
      from settled
      where allowance_month is not null and status = 'FAILED') as part
    group by 1, 2, 3) as change
  where (allowance.project_id, allowance.month, allowance.category) = (change.project_id,
      change.month, change.category))
select campaign_id
from settled

with unqueued as (
  select id, waiting.due_at, arm
  from (
    select inner_unqueued.due_at, inner_unqueued.email_id
    from email_queue inner_unqueued
    where inner_unqueued.campaign_id = $1 and inner_unqueued.lease_until is null) waiting
  join email on id = email_id
  where waiting.due_at <= now() and status = 'PENDING' and email.due_at <= now()
  order by waiting.due_at, id
  limit $2
  for update of email skip locked ), changed as (
  update email
  set due_at = null
  from unqueued
  where email.id = unqueued.id
  returning email.id, email.project_id, email.contact_id, email.campaign_id, email.source_type,
      email.message_class, email.status, email.error, email.refusal, email.due_at,
      email.lease_until, email.hold_reason, email.held_until, email.waits_for, email.ramp_id,
      email.message_id, email.created_at, email.sent_at, email.delivered_at, email.opened_at,
      email.clicked_at, email.bounced_at, email.complained_at, email.unsubscribed_at,
      email.human_opened_at, email.human_clicked_at, email.bounce_listed, email.complaint_listed,
      email.billed_units, email.allowance_month, email.derived_events ), ledger_unqueued as (
  delete from email_queue
  where email_id = any(array(
      select id
      from changed
      where not (status = 'SENDING' or status = 'PENDING' and due_at is not null)))), ledger_queued
          as (
  insert into email_queue (email_id, project_id, campaign_id, due_at, lease_until, held_until,
      hold_reason, waits_for, ramp_id)
  select id, project_id, campaign_id, due_at, lease_until, case when status = 'PENDING' and
      hold_reason is not null then held_until end, hold_reason, waits_for, ramp_id
  from changed
  where (status = 'SENDING' or status = 'PENDING' and due_at is not null)
  on conflict (email_id) do update
  set due_at = excluded.due_at, lease_until = excluded.lease_until, held_until =
      excluded.held_until, hold_reason = excluded.hold_reason, waits_for = excluded.waits_for,
      ramp_id = excluded.ramp_id), queued as (
  insert into campaign_chunk (campaign_id, project_id, email_ids, due_at)
  select $3, $4, array_agg(id
    order by due_at, id), max(due_at)
  from (
    select id, due_at, greatest(due_at, now()) as moment , arm, (row_number() over ( partition by
        greatest(due_at, now()) , arm
        order by due_at, id) - 1) / $5::int as part
    from (
      select id, due_at, arm
      from unqueued) as waiting) as numbered
  group by moment, part , arm
  order by moment, part , arm )
select count(*)::int as count
from unqueued
