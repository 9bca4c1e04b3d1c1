-- Segments, and what SQL needs to read contact data as the filter language does: as numbers and
-- dates where a text or number is one, without ever failing on what customers store.

create table segment (
  id uuid primary key default uuid_v7(),
  project_id uuid not null references project on delete cascade,
  name text not null,
  description text,
  type text not null check (type in ('DYNAMIC', 'STATIC')),
  condition jsonb,
  track_membership boolean not null default false,
  member_count integer not null default 0,
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now(),
  check ((type = 'DYNAMIC') = (condition is not null))
);
create index segment_page on segment (project_id, created_at desc, id desc);

-- The members of a STATIC segment; of a tracked DYNAMIC one those of its last computation.
create table segment_member (
  segment_id uuid not null references segment on delete cascade,
  contact_id uuid not null references contact on delete cascade,
  project_id uuid not null,
  created_at timestamptz(3) not null default now(),
  primary key (segment_id, contact_id)
);
create index segment_member_page on segment_member (segment_id, created_at desc, contact_id desc);
create index segment_member_contact on segment_member (contact_id);

-- The value at a path of keys, or null for none and for JSON null. Leads through objects only:
-- the operator #> would also step into lists.
create function filter_value(document jsonb, path text[]) returns jsonb
  language plpgsql immutable parallel safe as $$
declare
  key text;
begin
  foreach key in array path loop
    document := document -> key;
  end loop;
  return nullif(document, 'null');
end
$$;

-- The number a JSON value counts as in comparisons: a number, or a text in plain decimal notation
-- of at most 15 digits. As numberOf in domain/filter/value.ts.
create function filter_number(value jsonb) returns numeric
  language sql immutable parallel safe as $$
  select case jsonb_typeof(value)
    when 'number' then value::numeric
    when 'string' then
      case when value #>> '{}' ~ '^-?(0|[1-9][0-9]*)(\.[0-9]+)?$'
          and length(translate(value #>> '{}', '-.', '')) <= 15
        then (value #>> '{}')::numeric end
  end
$$;

-- The instant of a JSON text that is a date or a date-time, or null. As instantOfText in
-- domain/filter/value.ts: extended or basic form, the day must exist, no offset means UTC, digits
-- beyond milliseconds are cut, and only instants of the years 1 to 9999 count.
create function filter_date(value jsonb) returns timestamptz
  language plpgsql immutable parallel safe as $$
declare
  given text := value #>> '{}';
  width integer;
  ahead interval := '0';
  at timestamp;
begin
  if jsonb_typeof(value) is distinct from 'string' then return null; end if;
  -- The basic form, as the extended one.
  if substr(given, 9, 1) = 'T' and given ~ '^[0-9]{8}T[0-9]{4}([0-9]{2})?([.,Z+-]|$)' then
    given := substr(given, 1, 4) || '-' || substr(given, 5, 2) || '-' || substr(given, 7, 5) || ':'
      || substr(given, 12, 2) || case when substr(given, 14, 1) ~ '[0-9]' then ':' else '' end
      || substr(given, 14);
  end if;
  -- Matched as a whole, then cut: asking for its parts makes matching
  -- some 40 times slower.
  if given !~ (
    '^[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])'
    '(T([01][0-9]|2[0-3]):[0-5][0-9](:[0-5][0-9]([.,][0-9]+)?)?'
    '(Z|[+-]([01][0-9]|2[0-3])(:?[0-5][0-9])?)?)?$') or given like '0000%'
  then return null; end if;
  if substr(given, 9, 2) > '28' and substr(given, 9, 2)::integer > extract(day from
    make_date(substr(given, 1, 4)::integer, substr(given, 6, 2)::integer, 1)
    + interval '1 month' - interval '1 day')
  then return null; end if;
  -- The offset is `+01:00`, `+0100` or `+01`.
  width := case when length(given) > 10 then
    case '-' when translate(substr(right(given, 6), 1, 1), '+', '-') then 6
      when translate(substr(right(given, 5), 1, 1), '+', '-') then 5
      when translate(substr(right(given, 3), 1, 1), '+', '-') then 3 end end;
  if width is not null then
    ahead := left(right(given, width), 3)
      || case width when 3 then ':00' else ':' || right(given, 2) end;
    given := left(given, -width);
  end if;
  at := left(translate(rtrim(given, 'Z'), ',', '.'), 23)::timestamp - ahead;
  if at < '0001-01-01' or at >= '10000-01-01' then return null; end if;
  return at at time zone 'UTC';
end
$$;
