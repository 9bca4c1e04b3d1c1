import {
  createContext,
  type ReactNode,
  useCallback,
  useContext,
  useMemo,
  useRef,
  useState,
} from 'react';
import { textOfProblem } from '../words/problems.ts';
import { Button } from './button.tsx';

interface Notice {
  id: number;
  text: ReactNode;
  isBad?: boolean;
  undo?: () => void;
}

interface Notify {
  /** Shows that an action succeeded. */
  say: (text: ReactNode) => void;
  /** Shows that an action failed. */
  fail: (error: unknown) => void;
  /**
   * Shows that an object was deleted, with `Undo` for 8 seconds. The object is deleted by `send`
   * only after this time, or when the page is left.
   */
  undoable: (text: ReactNode, send: () => Promise<unknown>, undo?: () => void) => void;
}

const undoMs = 8_000;
const shownMs = 6_000;

const Context = createContext<Notify | null>(null);

/** Short messages in a corner of the window. */
export function Notices({ children }: { children: ReactNode }) {
  const [notices, setNotices] = useState<readonly Notice[]>([]);
  const next = useRef(0);
  const remove = useCallback((id: number) => {
    setNotices((all) => all.filter((notice) => notice.id !== id));
  }, []);
  const add = useCallback(
    (notice: Omit<Notice, 'id'>, ms: number) => {
      const id = next.current++;
      setNotices((all) => [...all.slice(-3), { ...notice, id }]);
      setTimeout(() => remove(id), ms);
      return id;
    },
    [remove],
  );
  const notify = useMemo<Notify>(() => {
    const fail = (error: unknown) => {
      const { message, suggestion } = textOfProblem(error);
      add({ text: [message, suggestion].filter(Boolean).join(' '), isBad: true }, 2 * shownMs);
    };
    return {
      say: (text) => void add({ text }, shownMs),
      fail,
      undoable(text, send, undo) {
        const work = () => {
          clearTimeout(timer);
          removeEventListener('pagehide', work);
          send().catch((error: unknown) => {
            undo?.();
            fail(error);
          });
        };
        const timer = setTimeout(work, undoMs);
        addEventListener('pagehide', work);
        const id = add(
          {
            text,
            undo: () => {
              clearTimeout(timer);
              removeEventListener('pagehide', work);
              remove(id);
              undo?.();
            },
          },
          undoMs,
        );
      },
    };
  }, [add, remove]);
  return (
    <Context.Provider value={notify}>
      {children}
      <div className="notices" role="region" aria-label="Messages">
        {notices.map(({ id, text, isBad, undo }) => (
          <div key={id} role={isBad ? 'alert' : 'status'}>
            <span>{text}</span>
            {undo ? (
              <Button isSmall onClick={undo}>
                Undo
              </Button>
            ) : (
              <Button
                kind="plain"
                isSmall
                aria-label="Close this message"
                onClick={() => remove(id)}
              >
                ×
              </Button>
            )}
          </div>
        ))}
      </div>
    </Context.Provider>
  );
}

export function useNotify(): Notify {
  return useContext(Context)!;
}
