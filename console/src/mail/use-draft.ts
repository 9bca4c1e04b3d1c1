import { useEffect, useState } from 'react';
import { dropDraft, keepDraft, readDraft } from '../api/drafts.ts';
import type { FormState } from '../design/form.tsx';

/**
 * Keeps the unsaved values of a form in the browser, and restores them when its page is opened
 * again.
 * @param etag the ETag of the edited version; empty: a new object
 */
export function useDraft<Values extends object>(
  name: string,
  form: FormState<Values>,
  etag: string,
): void {
  const [kept] = useState(() => readDraft<Values>(name));
  useEffect(() => {
    if (kept) form.set(kept.value);
    // The effect runs once, because the form keeps all later values.
  }, [kept]);
  const value = JSON.stringify(form.values);
  const { isChanged } = form;
  const [isFirst, setFirst] = useState(true);
  useEffect(() => {
    if (isFirst) setFirst(false);
    else if (isChanged) keepDraft(name, { etag, value: JSON.parse(value) as Values });
    else dropDraft(name);
  }, [name, value, isChanged, etag, isFirst]);
}
