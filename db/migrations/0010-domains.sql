-- When a domain is looked at next without being asked; null: never again, it has failed.
alter table domain add column next_check_at timestamptz(3) default now();
update domain set next_check_at = null where status = 'failed';

-- Each domain has a run that checks it from now on.
insert into run_wake (run_id, project_id, kind, input, summary)
  select 'domain-' || id, project_id, 'domainPoller',
      jsonb_build_object('projectId', project_id, 'domainId', id, 'name', name),
      'Checks of a sender domain'
    from domain where dkim_tokens <> '{}'
  on conflict do nothing;
