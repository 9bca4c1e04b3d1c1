import { useState } from 'react';
import type { Contact } from '../../api/api.ts';
import type { ContactFilter } from './contact-list.ts';

/** Chosen contacts: a list of contacts, or all contacts that match a filter. */
export type Chosen =
  | { kind: 'these'; ids: readonly string[]; emails: readonly string[] }
  | { kind: 'matching'; filter: ContactFilter; total: number };

export const numberOf = (chosen: Chosen): number =>
  chosen.kind === 'these' ? chosen.ids.length : chosen.total;

interface Choice {
  /** The list in which the contacts were chosen. In other lists, nothing is chosen. */
  list: string;
  emails: ReadonlyMap<string, string>;
  isAll: boolean;
}

/** The contacts that are chosen in a list. */
export function useChosen(list: string, filter: ContactFilter, total: number) {
  const [kept, keep] = useState<Choice>({ list, emails: new Map(), isAll: false });
  const { emails, isAll } =
    kept.list === list ? kept : { emails: new Map<string, string>(), isAll: false };
  const these = { kind: 'these', ids: [...emails.keys()], emails: [...emails.values()] } as const;
  const chosen: Chosen | null = isAll
    ? { kind: 'matching', filter, total }
    : emails.size === 0
      ? null
      : these;
  return {
    chosen,
    ids: new Set(emails.keys()),
    isAll,
    clear: () => keep({ list, emails: new Map(), isAll: false }),
    chooseAll: () => keep({ list, emails, isAll: true }),
    choose(contacts: readonly Contact[], isChosen: boolean) {
      const next = new Map(emails);
      for (const { id, email } of contacts) {
        if (isChosen) next.set(id, email);
        else next.delete(id);
      }
      keep({ list, emails: next, isAll: false });
    },
  };
}
