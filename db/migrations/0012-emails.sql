-- Messages, and the tables that find them. Columns that change have no index: each change would
-- make PostgreSQL write new entries in all indexes, instead of updating the row in place (a HOT
-- update). Separate tables find messages by these columns, and each statement that changes messages
-- also changes these tables: see db/sql/ledger.ts.

-- The ledger: one row for each message to one recipient.
create table email (
  id uuid primary key default uuid_v7(),
  project_id uuid not null,
  -- No cascade, because the rows of other tables must be changed when a message is deleted: see
  -- `deleteMail`.
  contact_id uuid not null references contact,
  to_name text,
  to_email text not null,
  subject text not null,
  body text,
  from_email text not null,
  from_name text,
  reply_to text,
  headers jsonb not null default '[]',
  attachments jsonb not null default '[]',
  -- The ids of the links in the message's body whose addresses contain template variables, in
  -- order.
  link_ids text[],
  message_class text not null check (message_class in ('TRANSACTIONAL', 'MARKETING', 'HEADLESS')),
  source_type text not null check (source_type in ('TRANSACTIONAL', 'CAMPAIGN', 'WORKFLOW', 'INBOUND')),
  template_id uuid,
  campaign_id uuid,
  workflow_execution_id uuid,
  workflow_step_execution_id uuid,
  workflow_step_id uuid,
  message_id text,
  status text not null default 'PENDING'
      check (status in ('PENDING', 'SENDING', 'SENT', 'DELIVERED', 'OPENED', 'CLICKED', 'BOUNCED',
      'COMPLAINED', 'FAILED', 'RECEIVED')),
  -- When the message is due; null: its chunk has the due time.
  due_at timestamptz(3) default now(),
  attempts integer not null default 0,
  attempt_id uuid,
  lease_until timestamptz(3),
  error text,
  sent_at timestamptz(3),
  delivered_at timestamptz(3),
  -- True if the message was accepted by a provider that reports no deliveries.
  delivery_unreported boolean not null default false,
  opened_at timestamptz(3),
  clicked_at timestamptz(3),
  -- When the message first led to the event that is the goal of its campaign or workflow.
  converted_at timestamptz(3),
  bounced_at timestamptz(3),
  complained_at timestamptz(3),
  -- The first open and click that are judged human: see the table `engagement`.
  human_opened_at timestamptz(3),
  human_clicked_at timestamptz(3),
  -- True while all judged opens (or clicks) are by machines.
  opened_by_machines boolean not null default false,
  clicked_by_machines boolean not null default false,
  opens integer not null default 0,
  clicks integer not null default 0,
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now(),
  -- Changes of a message after it was queued, in order: see `trace_entry`.
  trace jsonb not null default '[]',
  -- When the contact opted out through a link of this message.
  unsubscribed_at timestamptz(3),
  -- The content version from which a campaign's message was made.
  content_version integer,
  -- Stored instead of the body: the hash of its template, and the values of the message, as sent.
  body_template text,
  body_values jsonb,
  -- Number of messages that billing counts for this message: two if it has attachments.
  billed_units smallint not null
      generated always as (case when attachments = '[]' then 1 else 2 end) stored,
  -- The month whose allowance counts the message; null: not counted yet, or there is no limit.
  allowance_month date,
  -- When the message was claimed, if it belongs to a campaign and its first attempt was accepted;
  -- otherwise null. If it is set, `trace` omits the changes that the columns already show: given to
  -- the mail provider, accepted, delivered.
  handed_over_at timestamptz(3),
  -- The events of a campaign's message that are not stored, because its row has the same data. The
  -- number is the sum of 1 (email.sent) and 2 (email.delivery).
  derived_events smallint not null default 0,
  -- The requested send time, kept after sending; null: at once.
  scheduled_for timestamptz(3),
  -- When the pause after the last failed attempt ends.
  retry_at timestamptz(3),
  -- The rule that last held the message back, and until when; both are kept after sending. A hold
  -- by a ramp that is not running ends in the year 9999.
  hold_reason text,
  held_until timestamptz(3),
  -- The ramp that last held the message back.
  ramp_id uuid,
  topic_id uuid,
  -- The actor that caused transactional mail. For other mail, see its campaign or execution.
  caused_by text,
  -- No foreign key: a message outlives the opt-in request of its contact.
  opt_in_id uuid,
  -- True if the message bounced because the address was on the provider's suppression list. Such
  -- bounces do not count against the sender's reputation.
  bounce_listed boolean not null default false,
  -- The mail provider of the last attempt: the id of a row in `mail_provider`, or the name of a
  -- provider of the installation. Null: the default provider, without a route. While the outcome is
  -- unknown, no other provider may get the message. While a chunk has the message, the chunk may name
  -- a newer provider: see `providerOf`.
  provider_id text,
  -- Set while the message waits for this provider, which cannot take mail: `due_at` is the time of
  -- the next try.
  waits_for text,
  complaint_listed boolean not null default false,
  -- Set for received mail only: the unique key by which it is stored once.
  received_id text,
  -- When the failed message was queued again, which is possible once.
  retried_at timestamptz(3),
  refusal text
      check (refusal in ('provider_refused', 'recipient_refused', 'provider_unavailable')),
  -- The arm of the experiment, if the message belongs to the test group.
  arm text,
  check ((status = 'SENDING') = (lease_until is not null))
) with (fillfactor = 40);
comment on table email is 'The ledger: one row for each message to one recipient, written before anything is sent.';
comment on column email.scheduled_for is 'The requested time of sending; null: at once.';
comment on column email.retry_at is 'The end of the pause after the message''s last attempt.';
comment on column email.hold_reason is 'The rule that holds the message back: quiet_hours, '
  'frequency_cap or warm_up; or operator, after a restore of the database.';
comment on column email.held_until is 'The time until which the rule holds the message back.';
comment on column email.opt_in_id is 'The opt-in request that the message asks to confirm; its '
  'link gets the token when it is sent.';
comment on column email.workflow_step_id is 'The step that sent the message; null: no step did.';
comment on column email.refusal is 'Why the provider did not take the message; null: it was not '
  'refused. Its text is in "error".';
create unique index email_one_per_campaign_contact on email (campaign_id, contact_id)
  where campaign_id is not null;
create unique index email_one_per_step_execution on email (workflow_step_execution_id)
  where workflow_step_execution_id is not null;
create index email_page on email (project_id, created_at desc, id desc);
create index email_contact on email (contact_id, created_at desc, id desc);
create index email_execution on email (workflow_execution_id) where workflow_execution_id is not null;
create index email_inbound on email (project_id, created_at desc, id desc)
  where source_type = 'INBOUND';
create index email_campaign_page on email (campaign_id, created_at desc, id desc)
  where campaign_id is not null;
create index email_template_page on email (template_id, created_at desc, id desc)
  where template_id is not null;
create index email_step_page on email (workflow_step_id, created_at desc, id desc)
  where workflow_step_id is not null;
-- The columns of the next two indexes do change, but most messages are never in these indexes. The
-- condition on the code is that of `hasFailedBy` in db/sql/mail-status.ts; longer errors are texts
-- of a provider.
create index email_campaign_failed
  on email (campaign_id, left(coalesce(refusal, error), 40), created_at desc, id desc)
  where campaign_id is not null and error is not null;
create index email_campaign_reported on email (campaign_id, created_at desc, id desc)
  where campaign_id is not null
    and (bounced_at is not null or complained_at is not null or unsubscribed_at is not null);
create index email_arm on email (campaign_id, arm) where arm is not null;
-- Mail to the simulator, which does not count for the reputation.
create index email_simulated on email (project_id) where to_email like '%@simulator.test';
create index email_scheduled on email (project_id, created_at desc, id desc)
  where scheduled_for is not null;
create index email_scheduled_for on email (scheduled_for, id)
  where scheduled_for is not null;
create index email_attachments on email using gin (attachments jsonb_path_ops)
  where attachments <> '[]';
create unique index email_received_once on email (received_id, from_email)
  where received_id is not null;
create index email_with_error on email (project_id, created_at desc, id desc)
  where error is not null;

-- Attachments of one request, stored once for any number of recipients. The email rows refer to
-- them by id.
create table attachment (
  id uuid primary key default uuid_v7(),
  project_id uuid not null,
  content bytea not null,
  created_at timestamptz(3) not null default now(),
  -- Set for scheduled mail, whose attachments are kept longer.
  kept_from timestamptz(3)
);
comment on table attachment is 'Contents of attachments, stored once per request for any number '
  'of recipients.';
comment on column attachment.kept_from is 'The time from which the attachment''s retention '
  'counts; null: its creation.';
create index attachment_age on attachment (created_at);
create index attachment_project on attachment (project_id);

create table email_moment (
  project_id uuid not null,
  at timestamptz(3) not null,
  email_id uuid not null,
  kind smallint not null,
  primary key (project_id, kind, at, email_id)
);
comment on table email_moment is 'Times when messages were sent (1: neither FAILED nor received), '
  'delivered (2), opened (3), clicked (4), bounced (5), complained about (6), opened by a person '
  '(9), clicked by a person (10), or unsubscribed by (11). Bounces (7) and complaints (8) that '
  'came from the provider''s own suppression list also have a second row.';

create table email_tally (
  project_id uuid not null,
  kind smallint not null,
  day date not null,
  count bigint not null,
  fresh boolean not null default true
);
comment on table email_tally is 'Number of moments of mail on a UTC day before the watermark '
  '"email_tally". Statements add rows, and the sweep merges them.';
create index email_tally_key on email_tally (project_id, kind, day) include (count);
create index email_tally_fresh on email_tally (project_id, kind, day) where fresh;

create table email_queue (
  email_id uuid primary key,
  project_id uuid not null,
  campaign_id uuid,
  due_at timestamptz(3),
  -- Set from the claim of the message until its outcome is recorded.
  lease_until timestamptz(3),
  -- Set while the send policy or a ramp holds the message back.
  held_until timestamptz(3),
  hold_reason text,
  -- The provider that cannot take the message now.
  waits_for text,
  -- The ramp that holds the message back, or did so last.
  ramp_id uuid
) with (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.05);
comment on table email_queue is 'Messages that wait, or are being sent, outside of chunks: all '
  'mail except that of campaigns, and campaign messages that are held back or whose outcome is '
  'unknown.';
create index email_queue_due on email_queue (project_id, due_at, email_id)
  where campaign_id is null and lease_until is null;
create index email_queue_campaign on email_queue (campaign_id, due_at, email_id)
  where campaign_id is not null;
create index email_queue_lease on email_queue (lease_until) where lease_until is not null;
create index email_queue_held on email_queue (project_id, campaign_id, held_until) include (hold_reason)
  where held_until is not null;
create index email_queue_waiting on email_queue (waits_for, project_id, email_id)
  where waits_for is not null;
create index email_queue_ramp on email_queue (ramp_id, held_until, email_id)
  where ramp_id is not null;
create index email_queue_operator on email_queue (project_id, email_id)
  where hold_reason = 'operator';
create index email_queue_under_way on email_queue (project_id)
  where lease_until is not null;

create table provider_message (
  message_id text primary key,
  email_id uuid not null
);
comment on table provider_message is 'Ids that providers have given to messages. Ids from our own '
  'mailers begin with the message''s id, so they are not stored.';

create table late_mail (
  contact_id uuid not null,
  sent_at timestamptz(3) not null,
  email_id uuid not null,
  primary key (contact_id, sent_at, email_id)
);
comment on table late_mail is 'Mail that counts for frequency caps and was sent more than a day '
  'after its creation. Other mail is found by its creation time.';

create table campaign_tally (
  campaign_id uuid not null,
  project_id uuid not null,
  code text not null,
  count integer not null,
  sent integer not null,
  -- Number of deleted messages, with any outcome.
  gone integer not null default 0,
  -- Number of deleted messages that had been delivered, opened or clicked.
  gone_delivered integer not null default 0,
  gone_opened integer not null default 0,
  gone_clicked integer not null default 0,
  gone_human_opened integer not null default 0,
  gone_human_clicked integer not null default 0,
  fresh boolean not null default true
);
comment on table campaign_tally is 'Number of a campaign''s failed messages by refusal or error, '
  'and how many of them were accepted before. Deleted messages are counted once more. Statements '
  'add rows, and the sweep merges them.';
create index campaign_tally_key on campaign_tally (campaign_id, code) include (count, sent);
create index campaign_tally_fresh on campaign_tally (campaign_id, code) where fresh;

create function lock_marketing_mail(project uuid, contacts uuid[], own_attempt uuid,
    since timestamptz, most integer)
  returns table (contact_id uuid, sent_at timestamptz) language plpgsql as $$
begin
    perform pg_advisory_xact_lock(hashtextextended(id::text, 15))
      from (select distinct unnest(contacts) as id order by 1) as ordered;
    return query
      select contact.id, sent.sent_at
        from contact cross join lateral (
          select counted.sent_at from (
              select email.sent_at, email.status, email.source_type, email.to_email from email
                where email.contact_id = contact.id and email.message_class = 'MARKETING'
                  and email.source_type in ('CAMPAIGN', 'WORKFLOW') and email.sent_at > since
                  and email.created_at > since - interval '24 hours'
              union all
              select email.sent_at, email.status, email.source_type, email.to_email
                from late_mail join email on email.id = late_mail.email_id
                where late_mail.contact_id = contact.id and late_mail.sent_at > since
                  and email.created_at <= since - interval '24 hours') as counted
            where counted.status <> 'FAILED'
              and (counted.source_type = 'CAMPAIGN' or counted.to_email = contact.email)
            order by counted.sent_at desc limit most) as sent
        where contact.id = any(contacts)
      union all
      select email.contact_id, null
        from email_queue queued join email on email.id = queued.email_id
        join contact on contact.id = email.contact_id
        where queued.project_id = project and queued.lease_until is not null
          and email.contact_id = any(contacts) and email.message_class = 'MARKETING'
          and email.source_type in ('CAMPAIGN', 'WORKFLOW') and email.sent_at is null
          and email.status = 'SENDING' and email.attempt_id is distinct from own_attempt
          and (email.source_type = 'CAMPAIGN' or email.to_email = contact.email)
      union all
      select email.contact_id, null
        from campaign_chunk chunk cross join unnest(chunk.email_ids) as claimed(id)
        join email on email.id = claimed.id
        where chunk.project_id = project and chunk.attempt_id <> own_attempt
          and email.status = 'PENDING' and email.message_class = 'MARKETING'
          and email.contact_id = any(contacts);
end
$$;

-- Mail outside the ledger, until it is sent: tests of campaigns, and mail of the platform to its
-- users, which may contain secret links.
create table system_mail (
  id uuid primary key default gen_random_uuid(),
  -- The project of a campaign test; null: mail to a user of the platform.
  project_id uuid,
  kind text not null check (kind in ('campaign-test', 'platform-mail')),
  to_email text not null,
  from_email text not null,
  from_name text not null,
  reply_to text,
  subject text not null,
  html text not null,
  -- The message class and the topic of a campaign test. Together with the sender and the recipient,
  -- they select the route.
  message_class text,
  topic_id uuid,
  attempts integer not null default 0,
  -- The attempt that has claimed the message; null: it is not claimed.
  attempt_id uuid,
  created_at timestamptz(3) not null default now(),
  next_reconcile_at timestamptz(3) not null
      default now() + interval '10 minutes',
  check ((project_id is null) = (kind = 'platform-mail')),
  check ((message_class is null) = (kind = 'platform-mail'))
);
comment on table system_mail is 'Mail outside the ledger until it is sent: campaign tests, and '
  'mail about accounts.';
create index system_mail_project on system_mail (project_id) where project_id is not null;
create index system_mail_reconcile on system_mail (next_reconcile_at);

-- Mail caught on a developer's machine instead of being sent.
create table mailbox_message (
  id uuid primary key,
  sender text not null,
  recipient text not null,
  subject text not null,
  raw bytea not null,
  received_at timestamptz(3) not null default clock_timestamp()
);
comment on table mailbox_message is 'Mail caught on a machine without a mail provider: the newest '
  'thousand.';
create index mailbox_message_page on mailbox_message (received_at desc, id desc);
create index mailbox_message_recipient on mailbox_message (recipient, received_at desc, id desc);

-- Reports on sent mail, and received mail, that were handled. A report may arrive several times,
-- and through several channels. The id is that of an Amazon SNS notification, or a hash of the
-- message.
create table report_receipt (
  id text primary key,
  created_at timestamptz(3) not null default now()
);
comment on table report_receipt is 'Reports on mail that were handled, kept for 30 days.';
create index report_receipt_age on report_receipt (created_at);

-- Clicks by link. The owner of a link is the campaign, template or step that sent the message, so
-- clicks on one message may be counted for several owners. `link_id` is 'other' for links beyond
-- the 500 that are counted.
create table email_link (
  owner_id uuid not null,
  link_id text not null,
  -- Creation time of the message, by which lists are ordered.
  email_created_at timestamptz(3) not null,
  email_id uuid not null,
  clicks integer not null,
  human_clicks integer not null,
  machine_clicks integer not null,
  first_at timestamptz(3) not null,
  last_at timestamptz(3) not null,
  primary key (owner_id, link_id, email_created_at, email_id)
) with (fillfactor = 80);
comment on table email_link is 'The links that were clicked in a message, with the number of '
  'clicks, once for each campaign, template and step of the message.';
create index email_link_email on email_link (email_id);

create table tracked_link (
  owner_id uuid not null,
  link_id text not null,
  project_id uuid not null,
  -- The address of the link. Null: it came from data, and all messages in which it was clicked are
  -- deleted.
  url text,
  -- True once the sweep has searched the content for this link. `is_written`: the content has the
  -- link.
  is_checked boolean not null default false,
  is_written boolean not null default false,
  primary key (owner_id, link_id)
);
comment on table tracked_link is 'The clicked links of a campaign, template or step. Their number '
  'is limited, because addresses may come from data.';
comment on column tracked_link.url is 'The address as its author wrote it (is_written), or else the target of a click.';
create index tracked_link_project on tracked_link (project_id);
create index tracked_link_unchecked on tracked_link (owner_id) where not is_checked;

create table link_tally (
  owner_id uuid not null,
  link_id text not null,
  clicks bigint not null,
  emails bigint not null,
  human_clicks bigint not null,
  human_emails bigint not null,
  machine_clicks bigint not null,
  first_at timestamptz(3),
  last_at timestamptz(3),
  -- Number of the counted messages that were deleted.
  gone bigint not null default 0,
  fresh boolean not null default true
);
comment on table link_tally is 'Number of clicks on a link of a campaign, template or step, and '
  'of messages with such clicks. Statements add rows, and the sweep merges them.';
create index link_tally_key on link_tally (owner_id, link_id);
create index link_tally_fresh on link_tally (owner_id, link_id) where fresh;
