import { useEffect, useState } from 'react';
import { type Finding, findingsOf } from '../../../journey/problems.ts';
import type { Journey } from '../../../journey/graph.ts';
import { useProject } from '../../../shell/project.ts';

const pauseMs = 300;

/** Checks the graph shortly after each change. Returns null before the first answer. */
export function useCheck(journey: Journey): readonly Finding[] | null {
  const { api } = useProject();
  const [findings, setFindings] = useState<readonly Finding[] | null>(null);
  useEffect(() => {
    const ended = new AbortController();
    const timer = setTimeout(() => {
      const graph = journey as unknown as Record<string, unknown>;
      api
        .post('/workflows/check', { body: { graph }, signal: ended.signal })
        .then((checked) => setFindings(findingsOf(journey, checked)))
        // A failed check is ignored, because the next change checks again and saving shows all
        // problems.
        .catch(() => {});
    }, pauseMs);
    return () => {
      clearTimeout(timer);
      ended.abort();
    };
  }, [api, journey]);
  return findings;
}
