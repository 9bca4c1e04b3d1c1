-- Lists of contacts: who is searched for is found in the index alone.

-- With the address and the subscription beside the order of the list, a search or a filter that
-- few contacts meet reads 80 MB of index for a million contacts, not all of their rows. Sorted by
-- address, the list reads the unique index of the addresses.
--
-- Trigrams (pg_trgm) would find a rare part of an address sooner. They would also be an extension
-- that not every server lets its users create, and they find no part shorter than three characters.
drop index contact_page;
create index contact_page on contact (project_id, created_at desc, id desc)
  include (email, subscribed);
