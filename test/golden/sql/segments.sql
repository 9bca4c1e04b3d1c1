insert into segment (project_id, name, type, track_membership, member_count, condition)
values ($1, $2, $3, $4, $5, $6)
returning segment.computed_at, segment.condition, segment.created_at, segment.description,
    segment.file_key, segment.id, segment.member_count, segment.name, segment.project_id,
    segment.track_membership, segment.type, segment.updated_at

select id, coalesce(octet_length(condition::text), 0) as bytes
from segment
where project_id = $1
order by created_at desc, id desc

select segment.computed_at, segment.condition, segment.created_at, segment.description,
    segment.file_key, segment.id, segment.member_count, segment.name, segment.project_id,
    segment.track_membership, segment.type, segment.updated_at
from segment
where id = any($1::uuid[])
order by array_position($2::uuid[], id)

select segment.computed_at, segment.condition, segment.created_at, segment.description,
    segment.file_key, segment.id, segment.member_count, segment.name, segment.project_id,
    segment.track_membership, segment.type, segment.updated_at
from segment
where project_id = $1 and id = $2

select segment.computed_at, segment.condition, segment.created_at, segment.description,
    segment.file_key, segment.id, segment.member_count, segment.name, segment.project_id,
    segment.track_membership, segment.type, segment.updated_at
from segment
where project_id = $1 and id = $2
for no key update

update segment
set computed_at = now()
where id in (
  select segment.id
  from segment
  join project on project.id = segment.project_id
  where segment.computed_at <= now() - $1 * interval '1 minute' and project.disabled_reason is null
  order by segment.computed_at
  limit 1
  for no key update of segment skip locked)
returning segment.computed_at, segment.condition, segment.created_at, segment.description,
    segment.file_key, segment.id, segment.member_count, segment.name, segment.project_id,
    segment.track_membership, segment.type, segment.updated_at

update segment
set member_count = (
  select count(*)::int
  from segment_member
  where segment_member.segment_id = segment.id), computed_at = now()
where id = $1
returning member_count

with entered as (
  insert into segment_member (segment_id, contact_id, project_id)
  select $1, id, $2
  from unnest($3::uuid[]) as id
  on conflict do nothing
  returning contact_id ), gone as (
  delete from segment_member
  where segment_id = $4 and contact_id = any($5::uuid[])
  returning contact_id )
select contact_id as "contactId", true as entered
from entered
union all
select contact_id, false
from gone
