import { useEffect, useState } from 'react';
import { flushSync } from 'react-dom';
import { Keys } from './keys.tsx';
import { Search } from './search.tsx';
import type { SearchedProject } from './use-results.ts';

type Open = 'search' | 'keys' | null;

/** Returns true for a place in which letters are typed. */
function isTyping(target: EventTarget | null): boolean {
  const places =
    'input, textarea, select, [contenteditable="true"], [role="menu"], [role="listbox"]';
  return target instanceof HTMLElement && target.closest(places) !== null;
}

const isInDialog = () => document.querySelector('[role="dialog"]') !== null;

function wantedBy(event: KeyboardEvent): Open {
  const isCommand = event.ctrlKey || event.metaKey;
  if (isCommand && !event.altKey && !event.shiftKey && event.key.toLowerCase() === 'k')
    return 'search';
  if (isCommand || event.altKey || isTyping(event.target)) return null;
  if (event.key === '/') return 'search';
  return event.key === '?' ? 'keys' : null;
}

/**
 * The keys `/`, Ctrl-K (on a Mac Cmd-K) and `?`, with the dialogs that they open.
 * @param onOpen opens a page of the project
 */
export function useShortcuts(project: SearchedProject | null, onOpen: (page: string) => void) {
  const [open, setOpen] = useState<Open>(null);
  useEffect(() => {
    const press = (event: KeyboardEvent) => {
      const wanted = wantedBy(event);
      if (wanted === null || event.defaultPrevented || isInDialog()) return;
      event.preventDefault();
      // The dialog opens synchronously, because the next typed letter belongs in the field of the
      // dialog.
      flushSync(() => setOpen(wanted));
    };
    addEventListener('keydown', press);
    return () => removeEventListener('keydown', press);
  }, []);
  const close = () => setOpen(null);
  return {
    openSearch: () => setOpen('search'),
    dialog: (
      <>
        {open === 'search' && project && (
          <Search project={project} onOpen={onOpen} onClose={close} />
        )}
        {open === 'keys' && <Keys onClose={close} />}
      </>
    ),
  };
}
