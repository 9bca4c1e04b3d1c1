-- Templates and campaigns.

create table template (
  id uuid primary key default uuid_v7(),
  project_id uuid not null references project on delete cascade,
  name text not null,
  description text,
  subject text not null,
  body text not null,
  type text not null check (type in ('TRANSACTIONAL', 'MARKETING', 'HEADLESS')),
  from_email text,
  from_name text,
  reply_to text,
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now(),
  -- No foreign key: mail and sent campaigns keep the id of a deleted topic. Such an id counts as no
  -- topic.
  topic_id uuid,
  -- The key that names the template in files for version control; null until the first export.
  file_key text collate "C"
);
comment on table template is 'Subject, body and sender of a mail.';
create index template_page on template (project_id, created_at desc, id desc);
-- Partial: see segment_file_key.
create unique index template_file_key on template (project_id, file_key) where file_key is not null;
create index template_keyless on template (project_id, created_at, id) where file_key is null;
create index template_topic on template (topic_id) where topic_id is not null;

-- The recipients of a follow-up, selected by the outcome of their mail from another campaign.
-- Copies of the follow-up share the list.
create table follow_up_list (
  id uuid primary key default uuid_v7(),
  project_id uuid not null references project on delete cascade,
  -- Until this time the list is being filled, and no campaign uses it; null: the list is complete.
  expires_at timestamptz(3)
);
comment on table follow_up_list is 'Lists of the recipients of a follow-up and of its copies, '
  'selected once.';
create index follow_up_list_project on follow_up_list (project_id);
create index follow_up_list_expires on follow_up_list (expires_at) where expires_at is not null;

create trigger follow_up_list_removal after delete on follow_up_list
  for each row execute function note_removal();

-- No foreign keys: these rows are deleted in pages after their list, and deleting a contact does
-- not search for them.
create table follow_up_recipient (
  list_id uuid not null,
  contact_id uuid not null,
  project_id uuid not null,
  primary key (list_id, contact_id)
);
comment on table follow_up_recipient is 'The contacts of such lists; some may be deleted.';

create table campaign (
  id uuid primary key default uuid_v7(),
  project_id uuid not null references project on delete cascade,
  name text not null,
  description text,
  subject text not null,
  body text not null,
  from_email text not null,
  from_name text,
  reply_to text,
  template_id uuid references template on delete set null,
  audience_type text not null check (audience_type in ('ALL', 'SEGMENT', 'FILTERED', 'FOLLOW_UP')),
  segment_id uuid references segment on delete set null,
  audience_condition jsonb,
  message_class text not null check (message_class in ('TRANSACTIONAL', 'MARKETING', 'HEADLESS')),
  status text not null default 'DRAFT'
      check (status in ('DRAFT', 'SCHEDULED', 'SENDING', 'PAUSED', 'SENT', 'CANCELLED')),
  paused_reason text check (paused_reason in ('requested', 'provider_failures')),
  archived boolean not null default false,
  scheduled_for timestamptz(3),
  -- When the audience was fixed. Contacts that were created later are not in it.
  frozen_at timestamptz(3),
  sent_at timestamptz(3),
  total_recipients integer not null default 0,
  sent_count integer not null default 0,
  delivered_count integer not null default 0,
  -- Number of messages accepted by a provider that reports no deliveries. `assumed_count` is the
  -- number of those without a report of a delivery or bounce.
  unreported_count integer not null default 0,
  assumed_count integer not null default 0,
  opened_count integer not null default 0,
  clicked_count integer not null default 0,
  -- Number of messages that a person has opened (clicked), and of messages that only machines have
  -- opened (clicked).
  human_opened_count integer not null default 0,
  machine_opened_count integer not null default 0,
  human_clicked_count integer not null default 0,
  machine_clicked_count integer not null default 0,
  bounced_count integer not null default 0,
  complained_count integer not null default 0,
  unsubscribed_count integer not null default 0,
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now(),
  -- The last contact that was read while the audience is being fixed. `audience_fixed`: all
  -- contacts are read.
  frozen_to_at timestamptz(3),
  frozen_to_id uuid,
  audience_fixed boolean not null default false,
  -- The version of the campaign's newest content. New messages get this content.
  content_version integer not null default 0,
  -- Number of consecutive messages that the provider has refused.
  refused_in_row integer not null default 0,
  -- When the run last read the campaign, or the sweep last checked it. Two minutes later, the sweep
  -- checks the campaign again, and signals the run if there is work.
  reconciled_at timestamptz(3) not null default now(),
  -- Messages of the campaign whose template could not be rendered.
  rendered_plainly_count integer not null default 0,
  -- Maximum number of messages per minute; null: only the limits of the project apply.
  max_per_minute integer
      check (max_per_minute between 1 and 1000000),
  -- Local time at which each contact gets the mail; null: all contacts get it at once.
  local_time text,
  -- The treatment of contacts whose local time had passed when sending began: `send` sends at once,
  -- `skip` sends nothing.
  late text check (late in ('send', 'skip')),
  -- {timeZone, contactTimeZoneField}: from these the send time of each contact is computed. Set
  -- when sending begins.
  zone_policy jsonb,
  topic_id uuid,
  frozen_count integer not null default 0,
  left_unsubscribed integer not null default 0,
  left_topic integer not null default 0,
  -- The actors (`user:<id>`, `key:<id>`): `created_by` created the campaign, and `sent_by` sent or
  -- scheduled it last.
  created_by text,
  sent_by text,
  -- UTM parameters by key, which override those of the project; null removes a parameter.
  utm jsonb,
  -- Settings of the campaign's experiment; null: all recipients get the same content.
  experiment jsonb,
  -- For a follow-up: {campaignId, outcome, ignoreMachines, asOf}, and the list of its recipients.
  follow_up jsonb,
  follow_up_list uuid references follow_up_list,
  check ((audience_type = 'FOLLOW_UP') = (follow_up_list is not null)),
  -- {eventName, valueField?, windowDays, touch}; null: the campaign has no goal.
  goal jsonb,
  -- The last retry of the campaign's failed mail: {reasons, after, retried}. `retry_look_at`: if
  -- the request that retries has stopped by then, the campaign's run continues; null: no retry runs.
  retry jsonb,
  retry_look_at timestamptz(3),
  -- Since when the campaign waits for the operator, because a database restore may have lost what it
  -- has sent; null: it does not.
  held_at timestamptz(3),
  check (retry_look_at is null or retry is not null),
  check ((status = 'PAUSED') = (paused_reason is not null)),
  check (local_time is null or status in ('DRAFT', 'SCHEDULED', 'CANCELLED')
    or zone_policy is not null)
);
comment on table campaign is 'Campaigns: each sends one mail to an audience, once.';
comment on column campaign.rendered_plainly_count is 'Number of messages whose template could not '
  'be rendered: only placeholders were replaced.';
comment on column campaign.max_per_minute is 'Maximum number of messages given to the provider '
  'per minute; null: the campaign sets no limit.';
comment on column campaign.local_time is 'The local time at which each contact gets the campaign; '
  'null: all contacts get it at once.';
comment on column campaign.late is 'The treatment of contacts whose local time had passed when '
  'sending began: send at once, or skip.';
comment on column campaign.frozen_count is 'Number of the campaign''s messages, including those '
  'that were deleted with their contacts.';
comment on column campaign.left_unsubscribed is 'Number of contacts in the audience without a '
  'message, because they were not subscribed.';
comment on column campaign.left_topic is 'Number of contacts in the audience without a message, '
  'because they had left the topic.';
create index campaign_held on campaign (project_id, id) where held_at is not null;
create index campaign_page on campaign (project_id, created_at desc, id desc);
create index campaign_segment on campaign (segment_id) where segment_id is not null;
create index campaign_follow_up_list on campaign (follow_up_list) where follow_up_list is not null;
create index campaign_template on campaign (template_id) where template_id is not null;
create index campaign_experiment on campaign (project_id) where experiment is not null;
create index campaign_sent on campaign (project_id, sent_at desc, id desc)
  where sent_at is not null;
create index campaign_scheduled on campaign (project_id, scheduled_for, id)
  where status = 'SCHEDULED';
create index campaign_reconcile on campaign (reconciled_at) where status in ('SCHEDULED', 'SENDING', 'CANCELLED');
create index campaign_frozen on campaign (project_id, frozen_at desc, id desc)
  where frozen_at is not null;
create index campaign_topic on campaign (topic_id) where topic_id is not null;

-- When each page of an audience was fixed. The consent of a contact is checked as of the time of
-- its page (`fixed_at`), because consent may have changed between the freeze and the page.
create table audience_page (
  campaign_id uuid not null references campaign on delete cascade,
  -- The last contact of the page, in the order in which contacts were created.
  to_at timestamptz(3) not null,
  to_id uuid not null,
  project_id uuid not null,
  -- To the microsecond, because it is compared with event.recorded_at.
  fixed_at timestamptz not null,
  primary key (campaign_id, to_at, to_id)
);
comment on table audience_page is 'When the pages of a campaign''s audience were fixed.';

-- Content of a campaign, stored once for all its messages. The content is copied from the campaign
-- when sending begins, and again when sending resumes, because a paused campaign can be edited.
create table campaign_content (
  campaign_id uuid not null references campaign on delete cascade,
  version integer not null,
  -- The arm of the experiment that has this content; empty: there is no experiment.
  arm text not null default '',
  project_id uuid not null,
  subject text not null,
  body text not null,
  from_email text not null,
  from_name text not null,
  reply_to text,
  -- UTM parameters of the links, including those of the project; null: none.
  utm jsonb,
  utm_hosts text[] not null default '{}',
  template_id uuid,
  created_at timestamptz(3) not null default now(),
  primary key (campaign_id, version, arm)
);
comment on table campaign_content is 'The content of a campaign by version: an edit during a '
  'pause creates a new version.';

-- The experiment of a campaign that has begun to send.
create table experiment (
  campaign_id uuid primary key references campaign on delete cascade,
  project_id uuid not null,
  started_at timestamptz(3) not null,
  -- When the winner is decided; null: messages of the test group are still waiting to be sent.
  decide_at timestamptz(3),
  -- Set while the experiment waits for a manual decision: why the numbers do not decide (`draw`),
  -- and until when it waits.
  draw text check (draw in ('too_few', 'tie')),
  waits_until timestamptz(3),
  decided_at timestamptz(3),
  -- The arm that all other recipients get, the reason, and the actor that decided.
  arm text,
  decided_by text check (decided_by in ('metric', 'too_few', 'tie', 'manual')),
  actor text,
  -- The numbers of the arms at the decision: [{id, sent, hits, rate, probabilityBest}].
  numbers jsonb,
  check ((draw is null) = (waits_until is null)),
  check ((decided_at is null) = (arm is null) and (arm is null) = (decided_by is null)
    and (arm is null) = (numbers is null))
);
comment on table experiment is 'The experiment of a campaign that has begun to send, and its decision.';
create index experiment_project on experiment (project_id);

-- The body of messages that differ only in a few values: texts and the slots between them, `{texts,
-- slots}`. A slot names its value: `contactId`, `emailId`, or a value by number. The row outlives
-- its campaign, so that sent mail can still be shown.
create table body_template (
  campaign_id uuid not null,
  -- A hash of `body`.
  hash text not null,
  project_id uuid not null,
  body jsonb not null,
  primary key (campaign_id, hash)
);
comment on table body_template is 'The text that is equal in messages of a campaign, around the '
  'values that differ.';
create index body_template_project on body_template (project_id);

-- The queue of a campaign: its waiting messages, up to 50 per row. The attempt that has claimed a
-- chunk gives its messages to the mail provider. The chunk is deleted once the outcomes of its
-- messages are recorded.
create table campaign_chunk (
  campaign_id uuid not null,
  number bigint generated always as identity,
  project_id uuid not null,
  email_ids uuid[] not null,
  -- When the chunk is due: in the year 9999 while its messages wait for the decision of the
  -- experiment.
  due_at timestamptz(3) not null default now(),
  -- Set while the chunk is claimed.
  attempt_id uuid,
  claimed_at timestamptz(3),
  lease_until timestamptz(3),
  -- Set while the messages wait for this mail provider, which cannot take mail.
  waits_for text,
  -- Set while the chunk is claimed, if routes choose the mail providers of its messages: an array
  -- of {providerId, trace, emailIds}. The provider and this part of the trace are copied to the row
  -- of a message when its outcome is recorded, or when it moves to another provider.
  routed jsonb,
  primary key (campaign_id, number),
  check (routed is null or attempt_id is not null),
  check ((attempt_id is null) = (claimed_at is null)),
  check ((attempt_id is null) = (lease_until is null))
);
comment on table campaign_chunk is 'The queue of a campaign: its waiting messages, up to 50 at a time.';
create index campaign_chunk_due on campaign_chunk (campaign_id, due_at, number)
  where attempt_id is null;
create index campaign_chunk_claimed on campaign_chunk (project_id) where attempt_id is not null;
create index campaign_chunk_lease on campaign_chunk (lease_until) where attempt_id is not null;
create index campaign_chunk_waiting on campaign_chunk (waits_for, project_id, campaign_id, number)
  where waits_for is not null and attempt_id is null;
create index campaign_chunk_project on campaign_chunk (project_id);
create unique index campaign_chunk_attempt on campaign_chunk (attempt_id)
  where attempt_id is not null;
