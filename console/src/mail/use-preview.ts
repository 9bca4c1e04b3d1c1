import { useEffect, useState } from 'react';
import { type PreviewTemplateRequest, randomId, type TemplatePreview } from '../api/api.ts';
import { useProject } from '../shell/project.ts';

const pauseMs = 250;

/** Renders a mail that is not saved, a moment after its last change. */
export function usePreview(content: PreviewTemplateRequest): {
  preview: TemplatePreview | null;
  error: unknown;
} {
  const { api } = useProject();
  const [state, setState] = useState<{ preview: TemplatePreview | null; error: unknown }>({
    preview: null,
    error: null,
  });
  // The API takes no mail without a subject.
  const text = JSON.stringify({ ...content, subject: content.subject || '–' });
  useEffect(() => {
    const abort = new AbortController();
    const { signal } = abort;
    const read = async () => {
      const body = JSON.parse(text) as PreviewTemplateRequest;
      try {
        // The idempotency key is new each time, because a preview changes nothing and needs no
        // stored response.
        const idempotencyKey = randomId();
        const { data } = await api.post('/templates/preview', { body, idempotencyKey, signal });
        setState({ preview: data, error: null });
      } catch (error) {
        if (!signal.aborted) setState((before) => ({ ...before, error }));
      }
    };
    const isEmpty = content.body.trim() === '';
    const timer = isEmpty ? undefined : setTimeout(() => void read(), pauseMs);
    return () => {
      clearTimeout(timer);
      abort.abort();
    };
  }, [api, text]);
  return state;
}
