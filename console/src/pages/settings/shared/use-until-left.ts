import { useEffect, useState } from 'react';
import { flushSync } from 'react-dom';

/**
 * State that is forgotten when the page is left. It holds a new key: browsers keep pages in memory,
 * so the Back button could otherwise show the key again.
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
