delete from import_file
where job_id in ($1)

delete from job
where finished_at < now() - make_interval(hours => $1::int) and ctid = any (array(
    select ctid
    from job
    where finished_at < now() - make_interval(hours => $2::int)
    limit $3))

delete from job_batch
where job_id in ($1)

insert into contact (id, project_id, email, subscribed, data)
select $1::uuid, id, $2, $3::boolean, nullif($4::jsonb, '{}')
from project
where id = $5 and removal is null
for key share
on conflict (project_id, email) do update
set data = nullif((coalesce(contact.data, '{}') || coalesce(excluded.data, '{}')) - $6::text[],
    '{}'), updated_at = now()
where contact.data is distinct from nullif((coalesce(contact.data, '{}') || coalesce(excluded.data,
    '{}')) - $7::text[], '{}')
returning contact.consent, contact.created_at, contact.data, contact.email, contact.id,
    contact.project_id, contact.subscribed, contact.updated_at, (
  select exists (
    select
    from suppression_key inner_address_key where inner_address_key.owner_id = (
      select coalesce(inner_owner_of_key.public_id, inner_owner_of_key.id)
      from project inner_owner_of_key where inner_owner_of_key.id = $8))) as has_list

insert into contact (id, project_id, email, subscribed, data)
values ($1, $2, $3, $4, $5)
on conflict (project_id, email) do nothing
returning contact.consent, contact.created_at, contact.data, contact.email, contact.id,
    contact.project_id, contact.subscribed, contact.updated_at, (
  select exists (
    select
    from suppression_key inner_address_key where inner_address_key.owner_id = (
      select coalesce(inner_owner_of_key.public_id, inner_owner_of_key.id)
      from project inner_owner_of_key where inner_owner_of_key.id = $6))) as has_list

insert into contact (project_id, email, subscribed, data)
select $1, email, coalesce(subscribed, true), nullif(data, '{}')
from jsonb_to_recordset($2::jsonb) as given(email text, subscribed boolean, data jsonb)
order by email
on conflict (project_id, email) do nothing
returning id, email, subscribed, (
  select exists (
    select
    from suppression_key inner_address_key where inner_address_key.owner_id = (
      select coalesce(inner_owner_of_key.public_id, inner_owner_of_key.id)
      from project inner_owner_of_key where inner_owner_of_key.id = $3))) as has_list

insert into contact (project_id, email, subscribed, data)
values ($1, $2, $3, $4)
on conflict (project_id, email) do nothing
returning contact.consent, contact.created_at, contact.data, contact.email, contact.id,
    contact.project_id, contact.subscribed, contact.updated_at, (
  select exists (
    select
    from suppression_key inner_address_key where inner_address_key.owner_id = (
      select coalesce(inner_owner_of_key.public_id, inner_owner_of_key.id)
      from project inner_owner_of_key where inner_owner_of_key.id = $5))) as has_list

insert into import_file (job_id, project_id, content)
values ($1, $2, $3)

insert into job (id, project_id, kind, workflow_id, subscription_id, data, caused_by, request)
values ($1, $2, $3, $4, $5, $6, $7, $8)

select contact.consent, contact.created_at, contact.data, contact.email, contact.id,
    contact.project_id, contact.subscribed, contact.updated_at
from (
  select id
  from contact as listed
  where project_id = $1 and (created_at, id) < ($2::timestamptz, $3::uuid)
  order by listed.created_at desc, listed.id desc
  limit $4) page
join contact using (id)
order by contact.created_at desc, contact.id desc

select contact.consent, contact.created_at, contact.data, contact.email, contact.id,
    contact.project_id, contact.subscribed, contact.updated_at
from (
  select id
  from contact as listed
  where project_id = $1 and position($2 in email) > 0 and subscribed = $3 and true
  order by listed.email asc
  limit $4) page
join contact using (id)
order by contact.email asc

select contact.consent, contact.created_at, contact.data, contact.email, contact.id,
    contact.project_id, contact.subscribed, contact.updated_at
from (
  select id
  from contact as listed
  where project_id = $1 and true
  order by listed.created_at desc, listed.id desc
  limit $2) page
join contact using (id)
order by contact.created_at desc, contact.id desc

select contact.consent, contact.created_at, contact.data, contact.email, contact.id,
    contact.project_id, contact.subscribed, contact.updated_at
from contact
where contact.project_id = $1 and coalesce(contact.data @> $2::jsonb, false)
order by contact.created_at desc, contact.id desc
limit $3 offset $4

select contact.consent, contact.created_at, contact.data, contact.email, contact.id,
    contact.project_id, contact.subscribed, contact.updated_at
from contact
where project_id = $1 and id = $2

select contact.consent, contact.created_at, contact.data, contact.email, contact.id,
    contact.project_id, contact.subscribed, contact.updated_at, project.name as project_name,
    project.language as project_language, project.subscription as project_subscription, project.utm,
    project.utm_hosts, template.id as template_id, template.name as template_name, template.type as
    template_type, template.subject as template_subject, template.body as template_body,
    template.from_email as template_from_email, template.from_name as template_from_name,
    template.reply_to as template_reply_to, domain.status as domain_status, topic.id as topic_id,
    topic.key as topic_key from contact
inner join project on project.id = contact.project_id
left join template on template.project_id = contact.project_id and template.id = $1
left join domain on domain.project_id = contact.project_id and domain.name =
    split_part(template.from_email, '@', -1)
left join topic on topic.project_id = contact.project_id and topic.id = template.topic_id
where contact.project_id = $2 and contact.id = $3

select contact.id
from contact
inner join execution on execution.contact_id = contact.id
where execution.id = $1
for no key update of contact

select contact.id as "contactId", project_id as "projectId", gone.source, gone.email_id as "emailId"
from contact, unnest($1::uuid[], $2::text[], $3::text[], $4::uuid[]) as gone(id, email, source,
    email_id)
where contact.id = gone.id and contact.email = gone.email and consent = 'pending'

select contact.id, coalesce(contact.data @> $1::jsonb, false) as holds
from contact
where contact.id = any($2::uuid[])
order by contact.id
for no key update of contact

select contact.id, contact.email, contact.created_at
from contact
cross join campaign
where contact.project_id = $1 and campaign.id = $2 and contact.created_at <= $3 and true and not
    coalesce((
    select inner_consent.name = 'contact.unsubscribed'
    from event inner_consent
    where inner_consent.contact_id = contact.id and inner_consent.recorded_at > coalesce((
        select inner_judged.fixed_at
        from audience_page inner_judged
        where inner_judged.campaign_id = campaign.id and (inner_judged.to_at, inner_judged.to_id) >=
            (contact.created_at, contact.id)
        order by inner_judged.to_at, inner_judged.to_id
        limit 1), case when campaign.audience_fixed or campaign.status = 'CANCELLED' then
            campaign.frozen_at end, clock_timestamp()) and inner_consent.name in
            ('contact.subscribed', 'contact.unsubscribed')
    order by inner_consent.recorded_at
    limit 1), contact.subscribed) and true and (
  select email.id
  from email
  where email.campaign_id = campaign.id and email.contact_id = contact.id) is null and true
order by contact.created_at desc, contact.id desc
limit $4

select count(*)::int as total
from contact
cross join campaign
where contact.project_id = $1 and campaign.id = $2 and contact.created_at <= $3 and true and not
    coalesce((
    select inner_consent.name = 'contact.unsubscribed'
    from event inner_consent
    where inner_consent.contact_id = contact.id and inner_consent.recorded_at > coalesce((
        select inner_judged.fixed_at
        from audience_page inner_judged
        where inner_judged.campaign_id = campaign.id and (inner_judged.to_at, inner_judged.to_id) >=
            (contact.created_at, contact.id)
        order by inner_judged.to_at, inner_judged.to_id
        limit 1), case when campaign.audience_fixed or campaign.status = 'CANCELLED' then
            campaign.frozen_at end, clock_timestamp()) and inner_consent.name in
            ('contact.subscribed', 'contact.unsubscribed')
    order by inner_consent.recorded_at
    limit 1), contact.subscribed) and true and (
  select email.id
  from email
  where email.campaign_id = campaign.id and email.contact_id = contact.id) is null

select count(*)::int as total
from contact
where contact.project_id = $1 and coalesce(contact.data @> $2::jsonb, false)

select count(*)::int as total
from contact
where project_id = $1

select count(*)::int as total
from contact
where project_id = $1 and (contact.subscribed) and true

select count(*)::int as total
from contact
where project_id = $1 and coalesce(contact.data @> $2::jsonb, false)

select count(*)::int as total
from contact
where project_id = $1 and position($2 in email) > 0 and subscribed = $3

select id
from contact
where id = any($1::uuid[])
order by id
for no key update

select id
from contact
where id in (
  select contact_id
  from email
  where id = any($1::uuid[]))
order by id
for no key update

select id, email, subscribed, consent, coalesce(octet_length(data::text), 0) as bytes, (
  select count(*)::int
  from jsonb_object_keys(data)) as keys
from contact
where project_id = $1 and email = any($2::text[])
order by id
for no key update

select job.caused_by, job.created_at, job.data, job.failed_reason, job.finished_at, job.id,
    job.kind, job.position, job.progress, job.project_id, job.request, job.result, job.started_at,
    job.state, job.subscription_id, job.touched_at, job.workflow_id
from job
where id = $1 and project_id = $2 and state in ('waiting', 'active')
for update

select job.caused_by, job.created_at, job.data, job.failed_reason, job.finished_at, job.id,
    job.kind, job.position, job.progress, job.project_id, job.request, job.result, job.started_at,
    job.state, job.subscription_id, job.touched_at, job.workflow_id
from job
where project_id = $1 and kind = $2 and id = $3

select state, position, data, request, failed_reason
from job
where id = $1 and project_id = $2

select substring(content
  from $1::int for $2::int) as piece
from import_file
where job_id = $3

update contact
set data = nullif(coalesce(contact.data, '{}') || given.data, '{}'), subscribed =
    coalesce(given.subscribed, contact.subscribed), updated_at = now()
from jsonb_to_recordset($1::jsonb) as given(id uuid, subscribed boolean, data jsonb)
where contact.id = given.id and (contact.data is distinct from nullif(coalesce(contact.data, '{}')
    || given.data, '{}') or contact.subscribed <> coalesce(given.subscribed, contact.subscribed))

update contact
set email = $1, data = nullif((coalesce(contact.data, '{}') || $2::jsonb) - $3::text[], '{}'),
    subscribed = $4, updated_at = now()
where id = $5 and (data is distinct from nullif((coalesce(contact.data, '{}') || $6::jsonb) -
    $7::text[], '{}') or subscribed <> $8 or email <> $9)
returning contact.consent, contact.created_at, contact.data, contact.email, contact.id,
    contact.project_id, contact.subscribed, contact.updated_at

update contact
set subscribed = false, updated_at = now()
from unnest($1::uuid[], $2::text[], $3::text[], $4::uuid[]) as gone(id, email, source, email_id)
where contact.id = gone.id and contact.email = gone.email and subscribed
returning contact.id as "contactId", project_id as "projectId", gone.source, gone.email_id as
    "emailId"

update job
set state = $1, finished_at = clock_timestamp(), touched_at = clock_timestamp(), progress = $2
where id = $3

update job
set state = $1, started_at = coalesce(started_at, clock_timestamp()), touched_at =
    clock_timestamp(), position = $2, progress = $3, result = $4
where id = $5

update job
set state = $1, started_at = coalesce(started_at, clock_timestamp()), touched_at =
    clock_timestamp(), position = $2, progress = $3, result = $4, data = $5
where id = $6

update job
set touched_at = now()
where id in (
  select id
  from job
  where state in ('waiting', 'active') and touched_at < now() - interval '10 minutes'
  limit $1
  for update skip locked)
returning id, project_id, kind, caused_by

with counted as materialized (
  select key, count(*) as holders
  from contact
  cross join jsonb_object_keys(data) as key where project_id = $1
  group by key ), recent as materialized (
  select key, value, created_at, id
  from (
    select id, created_at, data
    from contact
    where project_id = $2
    order by created_at desc, id desc
    limit 5000) newest
  cross join jsonb_each(data) ), sparse as materialized (
  select key from counted
  left join (
    select key, count(*) as seen
    from recent
    group by key) sample using (key)
  where coalesce(seen, 0) < least(holders, 100) ), valued as (
  select key, value, created_at, id
  from recent
  where key not in (
    select key from sparse)
  union all
  select key, data -> key, created_at, id
  from contact
  cross join unnest(array(
      select key from sparse)) as key where exists (
    select
    from sparse) and project_id = $3 and data ?| array(
    select key from sparse) and data ? key ), typed as (
  select distinct on (key) key, type
  from (
    select key, value = 'null' as empty, case when jsonb_typeof(value) in ('number', 'boolean') then
        jsonb_typeof(value) when jsonb_typeof(value) = 'string' and value #>> '{}' ~
        '^\d{4}-\d{2}-\d{2}(T\d{2}:\d{2}:\d{2}(\.\d{3})?Z?)?$' then 'date' else 'string' end as type
    from (
      select key, value, row_number() over (partition by key order by created_at desc, id desc) as
          age
      from valued) aged
    where age <= 100) known
  group by key, type
  order by key, count(*) filter (
    where not empty) desc, type)
select key, type, holders::float8 as holders
from typed
join counted using (key)
order by key collate "C"

with given as (
  select id, email, subscribed,
  set, ip, user_agent, text, actor
  from jsonb_to_recordset($1::jsonb) as given(id uuid, email text, subscribed boolean,
    set jsonb, ip text, user_agent text, text text, actor text) ), written as (
  insert into contact (id, project_id, email, subscribed, data)
  select id, $2, email, subscribed, nullif(
    set, '{}')
  from given
  order by email
  on conflict (project_id, email) do update
  set data = nullif((coalesce(contact.data, '{}') || coalesce(excluded.data, '{}')) - $3::text[],
      '{}'), updated_at = now()
  where contact.data is distinct from nullif((coalesce(contact.data, '{}') ||
      coalesce(excluded.data, '{}')) - $4::text[], '{}')
  returning id, email, data ), logged as (
  insert into consent (contact_id, project_id, action, source, ip, user_agent, text, actor)
  select made.id, $5, $6, $7, made.ip, made.user_agent, made.text, made.actor
  from (
    select id, ip, user_agent, text, actor
    from given
    join written using (id)
    where given.subscribed) made)
select id, written.email, data, coalesce(given.subscribed, false) as subscribed, (
  select exists (
    select
    from suppression_key inner_address_key where inner_address_key.owner_id = (
      select coalesce(inner_owner_of_key.public_id, inner_owner_of_key.id)
      from project inner_owner_of_key where inner_owner_of_key.id = $8))) as has_list
from written
left join given using (id)

with matching as (
  select contact.id
  from contact
  where contact.project_id = $1 and coalesce(contact.data @> $2::jsonb, false) ), stored as (
  select contact_id
  from segment_member
  where segment_id = $3 )
select coalesce(matching.id, stored.contact_id) as id
from matching full
join stored on stored.contact_id = matching.id
where matching.id is null or stored.contact_id is null
limit $4

with receivers as materialized (
  select id
  from contact
  where id = any($1::uuid[])
  order by id
  for no key update )
select (not exists (
    values ('email.sent'), ('email.delivery') except
    select name
    from (
      select name, (
        select array_agg(id)
        from event_subscription
        where project_id = $2 and enabled and exists (
          select
          from unnest(events) as inner_item
          where inner_item in ('*', named.name) or right(inner_item, 2) = '.*' and
              starts_with(named.name, left(inner_item, -1)))) as "subscriptionIds"
      from (
        values ('email.sent'::text), ('email.delivery'::text)) as named(name)
      where not exists (
        select
        from workflow
        where project_id = $3 and trigger_event_name = named.name and enabled and trigger_type =
            'EVENT') and not exists (
        select
        from exit_event
        where project_id = $4 and event_name = named.name) and not exists (
        select
        from goal
        where project_id = $5 and event_name = named.name) and not exists (
        select
        from unnest($6::uuid[]) as receiver(id)
        join wait on wait.contact_id = receiver.id
        where wait.event_name = named.name and wait.event_id is null)) derivable)) as "isDerivable",
            routed is not null as "isRouted"
from campaign_chunk
where attempt_id = $7 and cardinality(email_ids) = $8 and (
  select count(*)
  from receivers) > 0
for update
