import { type Dispatch, useEffect } from 'react';
import type { EditAction } from '../../../journey/editing.ts';

/** True for a place in which letters are typed. */
const isTyping = (target: EventTarget | null): boolean =>
  target instanceof HTMLElement &&
  target.closest('input, textarea, select, [role="menu"]') !== null;

/** True for a place outside the graph, whose keys the editor must not handle. */
const isElsewhere = (target: EventTarget | null): boolean =>
  target instanceof HTMLElement && target.closest('.simulation, [role="dialog"]') !== null;

/** The keys of the editor: Del, Ctrl-Z, Ctrl-Shift-Z and Ctrl-S; Cmd on a Mac. */
export function useKeys({
  dispatch,
  chosen,
  save,
}: {
  dispatch: Dispatch<EditAction>;
  chosen: string;
  save: () => void;
}) {
  useEffect(() => {
    const press = (event: KeyboardEvent) => {
      const key = event.key.toLowerCase();
      const isCommand = event.ctrlKey || event.metaKey;
      if (isElsewhere(event.target)) return;
      if (isCommand && key === 's') {
        event.preventDefault();
        save();
      } else if (isCommand && key === 'z') {
        event.preventDefault();
        dispatch({ type: event.shiftKey ? 'redo' : 'undo' });
      } else if (key === 'delete' && !isTyping(event.target)) {
        event.preventDefault();
        dispatch({ type: 'delete', key: chosen });
      }
    };
    addEventListener('keydown', press);
    return () => removeEventListener('keydown', press);
  });
}
