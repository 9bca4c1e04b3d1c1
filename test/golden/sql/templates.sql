insert into template (project_id, name, subject, body, type, from_email)
values ($1, $2, $3, $4, $5, $6)
returning template.body, template.created_at, template.description, template.file_key,
    template.from_email, template.from_name, template.id, template.name, template.project_id,
    template.reply_to, template.subject, template.topic_id, template.type, template.updated_at

select id
from template
where project_id = $1 and id = any($2::uuid[])
order by id
for key share

select id, from_email, type
from template
where project_id = $1 and id = any($2::uuid[])

select id, name
from template
where project_id = $1 and id = any($2::uuid[])

select template.body, template.created_at, template.description, template.file_key,
    template.from_email, template.from_name, template.id, template.name, template.project_id,
    template.reply_to, template.subject, template.topic_id, template.type, template.updated_at
from template
where id = any($1::uuid[])
order by array_position($2::uuid[], id)

select template.body, template.created_at, template.description, template.file_key,
    template.from_email, template.from_name, template.id, template.name, template.project_id,
    template.reply_to, template.subject, template.topic_id, template.type, template.updated_at
from template
where project_id = $1 and id = $2
