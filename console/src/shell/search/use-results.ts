import { useQuery } from '@tanstack/react-query';
import { useEffect, useState } from 'react';
import type { Everpost } from '../../../../client/everpost.ts';
import { foundPages } from './pages.ts';

/** The project that is searched. */
export interface SearchedProject {
  id: string;
  api: Everpost;
}

export interface Result {
  kind: 'Contact' | 'Workflow' | 'Campaign' | 'Template' | 'Segment' | 'Page';
  name: string;
  /** Path of the result's page in the project. */
  page: string;
}

/** Maximum number of results of each kind. */
const eachMax = 5;
const pauseMs = 120;

/**
 * Returns the results for a text, the best first: results with this name, then names that begin
 * with the text. `isSettled` is false until all results for the text have arrived.
 */
export function useResults(
  { id, api }: SearchedProject,
  typed: string,
): {
  results: readonly Result[];
  isSettled: boolean;
  error: unknown;
} {
  const text = typed.trim();
  const settled = useSettledText(text);
  const { data, error, isPlaceholderData, isFetching } = useQuery({
    queryKey: [id, 'search', settled],
    queryFn: () => find(api, settled),
    enabled: settled !== '',
    placeholderData: (before) => before,
    staleTime: 5_000,
  });
  const isSettled = text === settled && !isPlaceholderData && !isFetching;
  const results = text === '' ? [] : ranked([...(data ?? []), ...pagesWith(text)], text);
  return { results, isSettled, error };
}

function useSettledText(text: string): string {
  const [settled, setSettled] = useState(text);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(text), pauseMs);
    return () => clearTimeout(timer);
  }, [text]);
  return settled;
}

async function find(api: Everpost, search: string): Promise<Result[]> {
  const query = { search, pageSize: eachMax };
  const [contacts, workflows, campaigns, templates, segments] = await Promise.all([
    api.get('/contacts', { query: { search, limit: eachMax } }),
    api.get('/workflows', { query }),
    api.get('/campaigns', { query }),
    api.get('/templates', { query }),
    api.get('/segments'),
  ]);
  const named = (kind: Result['kind'], folder: string) => (one: { id: string; name: string }) => ({
    kind,
    name: one.name,
    page: `${folder}/${one.id}`,
  });
  return [
    ...contacts.data.map(({ id, email }) => named('Contact', 'contacts')({ id, name: email })),
    ...workflows.data.map(named('Workflow', 'workflows')),
    ...campaigns.data.map(named('Campaign', 'campaigns')),
    ...templates.data.map(named('Template', 'templates')),
    ...segments
      .filter(({ name }) => has(name, search))
      .slice(0, eachMax)
      .map(named('Segment', 'segments')),
  ];
}

const has = (name: string, text: string) => name.toLowerCase().includes(text.toLowerCase());

function pagesWith(text: string): Result[] {
  return foundPages
    .filter(([, name]) => has(name, text))
    .map(([page, name]) => ({ kind: 'Page', name, page }));
}

function ranked(results: readonly Result[], text: string): Result[] {
  const wanted = text.toLowerCase();
  const rank = ({ name }: Result) => {
    const low = name.toLowerCase();
    if (low === wanted) return 0;
    return low.startsWith(wanted) ? 1 : 2;
  };
  return results.toSorted((one, other) => rank(one) - rank(other));
}
