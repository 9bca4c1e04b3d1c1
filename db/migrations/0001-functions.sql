-- Functions that several of the following files use. docs/data-model.md explains the tables.

-- Time-ordered ids (RFC 9562, version 7): rows created together are neighbours in the index.
-- PostgreSQL 18 has a cheaper function with this name; on older servers, this one is created.
do $do$
begin
  if to_regprocedure('uuidv7()') is not null then
    create function uuid_v7() returns uuid language sql parallel safe
      as 'select uuidv7()';
  else
    create function uuid_v7() returns uuid language sql volatile parallel safe as $$
      select encode(
        set_bit(set_bit(
          overlay(
            uuid_send(gen_random_uuid())
            placing substring(int8send((extract(epoch from clock_timestamp()) * 1000)::bigint) from 3)
            from 1 for 6),
          52, 1), 53, 1), 'hex')::uuid
    $$;
  end if;
end
$do$;

-- The value at a path of keys; null if there is none, or for JSON null. The path leads only through
-- objects: the operator #> would also enter lists.
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

-- The number by which a JSON value is compared: a JSON number, or a text in plain decimal notation
-- of at most 15 digits. The result must equal that of numberOf in domain/filter/value.ts.
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

-- The instant of a JSON text that is a date or a date-time; otherwise null. The result must equal
-- that of instantOfText in domain/filter/value.ts. The form is extended or basic, the day must
-- exist, no offset means UTC, digits beyond milliseconds are cut, and only the years 1 to 9999
-- count.
create function filter_date(value jsonb) returns timestamptz
  language plpgsql immutable parallel safe as $$
declare
  given text := value #>> '{}';
  width integer;
  ahead interval := '0';
  at timestamp;
begin
  if jsonb_typeof(value) is distinct from 'string' then return null; end if;
  -- Convert the basic form to the extended one.
  if substr(given, 9, 1) = 'T' and given ~ '^[0-9]{8}T[0-9]{4}([0-9]{2})?([.,Z+-]|$)' then
    given := substr(given, 1, 4) || '-' || substr(given, 5, 2) || '-' || substr(given, 7, 5) || ':'
      || substr(given, 12, 2) || case when substr(given, 14, 1) ~ '[0-9]' then ':' else '' end
      || substr(given, 14);
  end if;
  -- Match the whole text and cut it later: a regular expression that extracts the parts is much
  -- slower.
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

-- A trigger appends each change of `status` to the column `history` of the row. So no statement can
-- forget the history, and a change costs no second row.
create function note_status() returns trigger language plpgsql as $$
declare
  before jsonb := '[]';
  earlier text;
begin
  if tg_op = 'UPDATE' then
    if new.status = old.status then return new; end if;
    before := old.history;
    earlier := old.status;
  end if;
  new.history := before || jsonb_build_object(
    -- With microseconds, so that the changes of an execution and of its steps have a common order.
    'at', to_char(clock_timestamp() at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'),
    'from', earlier,
    'to', new.status,
    'detail', coalesce(new.error, to_jsonb(new) ->> 'exit_reason'));
  return new;
end
$$;

-- One entry of a message's trace, to be appended: `trace || trace_entry('accepted', …)`.
create function trace_entry(state text, detail jsonb default null) returns jsonb
  language sql as $$
  select jsonb_build_array(jsonb_build_object(
    'at', to_char(clock_timestamp() at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'),
    'state', state, 'detail', detail))
$$;
