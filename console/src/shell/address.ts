import { useNavigate, useParams, useSearch } from '@tanstack/react-router';

/**
 * Returns a parameter in the page's path: `useParam('contactId')` on a page at
 * `contacts/$contactId`.
 */
export function useParam(name: string): string {
  const params = useParams({ strict: false }) as Record<string, string | undefined>;
  return params[name] ?? '';
}

/**
 * The filters and the order of a list, kept in the page's address. The Back button and a shared
 * link therefore show the same list. Default values are left out. Changing a filter opens the first
 * page.
 */
export function useAddress<Key extends string>(
  defaults: Record<Key, string>,
): [Record<Key, string>, (changes: Partial<Record<Key, string>>, replace?: boolean) => void] {
  const search = useSearch({ strict: false }) as Record<string, string>;
  const navigate = useNavigate();
  const values = Object.fromEntries(
    Object.entries<string>(defaults).map(([key, value]) => [key, search[key] ?? value]),
  ) as Record<Key, string>;
  return [
    values,
    (changes, replace = false) => {
      const paging = 'page' in changes || 'cursor' in changes ? {} : { page: '', cursor: '' };
      const next = { ...search, ...paging, ...changes } as Record<string, string>;
      const kept = Object.entries(next).filter(
        ([key, value]) => value !== '' && value !== (defaults as Record<string, string>)[key],
      );
      void navigate({ to: '.', search: Object.fromEntries(kept), replace });
    },
  ];
}
