-- Whether a mail provider takes mail. While it cannot, all workers together try one mail at a time.
create table provider_circuit (
  -- The provider as the workers know it: its kind and address.
  provider text primary key,
  failures integer not null default 0,
  opened_at timestamptz(3),
  probes integer not null default 0,
  next_probe_at timestamptz(3),
  check ((opened_at is null) = (next_probe_at is null))
);
comment on table provider_circuit is
  'Whether each mail provider takes mail; while it does not, one mail at a time is tried';
comment on column provider_circuit.failures is
  'Attempts in a row that the provider could not take, up to the one that opened the circuit';
comment on column provider_circuit.opened_at is
  'Since when mail waits for the provider; null: the circuit is closed';
comment on column provider_circuit.probes is 'Mails tried in vain since then';
comment on column provider_circuit.next_probe_at is
  'When the next mail is tried; while one is under way, when it counts as lost with its process';
