import { useNavigate, useParams, useSearch } from '@tanstack/react-router';

/** Returns a part of the page's path: `useParam('contactId')` for a page at `contacts/$contactId`. */
export function useParam(name: string): string {
  const params = useParams({ strict: false }) as Record<string, string | undefined>;
  return params[name] ?? '';
}

/**
 * The filters and the order of a list, which are in the address, so that Back and a sent link show
 * the same. A value that equals its default is left out. A change of a filter leads to the first
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
