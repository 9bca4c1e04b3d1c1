import { useState } from 'react';
import type { Condition, ContactList, QueryContactsRequest } from '../../api/api.ts';
import { useLive, useRead } from '../../api/queries.ts';
import { isComplete } from '../../filter/operators.ts';
import { completePart } from '../../filter/tree.ts';
import { useSettled } from '../../filter/use-contact-count.ts';
import { useAddress } from '../../shell/address.ts';
import { useProject } from '../../shell/project.ts';

export const pageSize = 50;

/** The filter of a list of contacts. Bulk actions and exports use the same filter. */
export type ContactFilter = Pick<QueryContactsRequest, 'search' | 'subscribed'> & {
  condition?: Condition;
};

/** The filter and the order of the list, which are in the page's address. */
export function useContactAddress() {
  const [address, set] = useAddress({
    search: '',
    subscribed: '',
    filter: '',
    sort: 'createdAt',
    dir: 'desc',
    cursor: '',
    page: '1',
  });
  const [draft, setDraft] = useState<Draft | null>(null);
  const isDraft = draft && [draft.text, draft.before].includes(address.filter);
  const condition = isDraft ? draft.condition : readCondition(address.filter);
  const complete = condition && completePart(condition, isComplete);
  const filter: ContactFilter = {
    ...(address.search !== '' && { search: address.search }),
    ...(address.subscribed !== '' && { subscribed: address.subscribed === 'true' }),
    ...(complete && { condition: complete }),
  };
  const setCondition = (next: Condition) => {
    const text = next.groups.length === 0 ? '' : JSON.stringify(next);
    setDraft({ condition: next, text, before: address.filter });
    set({ filter: text }, true);
  };
  return { address, set, condition, setCondition, filter };
}

/**
 * The condition while it is edited. The condition in the page's address is changed a moment later.
 */
interface Draft {
  condition: Condition;
  text: string;
  before: string;
}

/** Returns the filter in the page's address; null: the filter is absent or invalid. */
function readCondition(text: string): Condition | null {
  if (text === '') return null;
  try {
    const value = JSON.parse(text) as Condition;
    return Array.isArray(value.groups) ? value : null;
  } catch {
    return null;
  }
}

/** One page of contacts, and the number of all matching contacts. */
export function useContactList({ address, filter }: ReturnType<typeof useContactAddress>) {
  const { api, project } = useProject();
  const settled = useSettled(filter);
  const { sort, dir, cursor } = address;
  const order = {
    sort: sort === 'email' ? 'email' : 'createdAt',
    dir: dir === 'asc' ? 'asc' : 'desc',
  } as const;
  const body = { ...settled, ...order, limit: pageSize, ...(cursor && { cursor }) };
  const list = useLive<ContactList>({
    key: [project.id, 'contacts', 'list', body],
    read: () => api.post('/contacts/query', { body }),
  });
  const counted = useRead(
    [project.id, 'contacts', 'total', settled],
    () => api.post('/contacts/query', { body: { ...settled, limit: 1 } }),
    { isEnabled: cursor !== '' },
  );
  return { list, total: cursor === '' ? list.data?.total : counted.data?.total };
}
