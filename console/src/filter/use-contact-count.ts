import { useEffect, useState } from 'react';
import type { Condition } from '../api/api.ts';
import { useRead } from '../api/queries.ts';
import { useProject } from '../shell/project.ts';

const pauseMs = 250;

/**
 * Returns a value after the value has stayed the same for a moment. So the console does not send a
 * request for each typed letter.
 */
export function useSettled<T>(value: T): T {
  const text = JSON.stringify(value);
  const [settled, settle] = useState(value);
  useEffect(() => {
    const timer = setTimeout(() => settle(JSON.parse(text) as T), pauseMs);
    return () => clearTimeout(timer);
  }, [text]);
  return settled;
}

/** Counts the contacts that match a condition now; null: all contacts. */
export function useContactCount(
  condition: Condition | null,
  isEnabled: boolean,
): number | undefined {
  const { api, project } = useProject();
  const settled = useSettled(condition);
  const { data } = useRead(
    [project.id, 'contacts', 'count', settled],
    () => api.post('/contacts/query', { body: { condition: settled, limit: 1 } }),
    { isEnabled },
  );
  return data?.total;
}
