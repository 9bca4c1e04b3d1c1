import { useEffect, useState } from 'react';
import { flushSync } from 'react-dom';

/**
 * State that is forgotten when the page is left, for a new key. Otherwise the Back button could
 * show the key again, because browsers keep pages in memory.
 */
export function useUntilLeft<T>(): [T | null, (value: T | null) => void] {
  const [value, setValue] = useState<T | null>(null);
  useEffect(() => {
    const forget = () => flushSync(() => setValue(null));
    addEventListener('pagehide', forget);
    return () => removeEventListener('pagehide', forget);
  }, []);
  return [value, setValue];
}
