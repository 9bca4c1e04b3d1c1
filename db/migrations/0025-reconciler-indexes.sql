-- no transaction
-- By which the reconciler finds what is to be looked at.
drop index concurrently if exists execution_look;
create index concurrently execution_look on execution (next_look_at) where status in ('RUNNING', 'WAITING');
drop index concurrently if exists domain_look;
create index concurrently domain_look on domain (next_check_at) where next_check_at is not null;
drop index concurrently if exists single_mail_look;
create index concurrently single_mail_look on single_mail (next_look_at);
drop index concurrently if exists campaign_look;
create index concurrently campaign_look on campaign (looked_at) where status in ('SCHEDULED', 'SENDING', 'CANCELLED');
