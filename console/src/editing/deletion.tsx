import { Link } from '@tanstack/react-router';
import { type ReactNode, useState } from 'react';
import { EverpostError } from '../api/api.ts';
import { Button } from '../design/button.tsx';
import { useConfirm } from '../design/confirm.tsx';
import { Dialog } from '../design/dialog.tsx';

/** Something that uses an object, with the address of its page. */
export interface Use {
  text: string;
  to: string;
}

interface Deletion {
  /** The object, for example its name. */
  name: string;
  /** The text that names what will be lost. */
  text: ReactNode;
  send: () => Promise<unknown>;
  /** Returns the uses that the details of an error 409 list. */
  usesIn: (details: Record<string, unknown>) => readonly Use[];
}

/**
 * Asks to confirm a deletion. If the object is in use (409), nothing is deleted, and a dialog has
 * links to the objects that use it.
 */
export function useDeletion(): { ask: (deletion: Deletion) => void; dialog: ReactNode } {
  const confirm = useConfirm();
  const [inUse, setInUse] = useState<{ name: string; uses: readonly Use[] } | null>(null);
  return {
    ask: ({ name, text, send, usesIn }) =>
      confirm({
        title: `Delete ${name}?`,
        text,
        verb: 'Delete',
        async send() {
          try {
            await send();
          } catch (error) {
            if (!(error instanceof EverpostError) || !error.code?.endsWith('_IN_USE')) throw error;
            setInUse({ name, uses: usesIn(error.details) });
          }
        },
      }),
    dialog: inUse && (
      <Dialog
        title={`${inUse.name} is in use`}
        description="Nothing was deleted. It can be deleted when nothing uses it any more."
        onClose={() => setInUse(null)}
      >
        <ul className="stack-list" aria-label="Used by">
          {inUse.uses.map(({ text, to }) => (
            <li key={to + text}>
              <Link to={to}>{text}</Link>
            </li>
          ))}
        </ul>
        <div className="actions">
          <Button onClick={() => setInUse(null)}>Close</Button>
        </div>
      </Dialog>
    ),
  };
}

interface Named {
  id: string;
  name: string;
}

/** Returns the templates and campaigns in the details of an error 409. */
export function mailUses(
  details: Record<string, unknown>,
  path: (page: string) => string,
): readonly Use[] {
  const { templates = [], campaigns = [] } = details as Record<string, readonly Named[]>;
  return [
    ...templates.map(({ id, name }) => ({ text: `Template ${name}`, to: path(`templates/${id}`) })),
    ...campaigns.map(({ id, name }) => ({ text: `Campaign ${name}`, to: path(`campaigns/${id}`) })),
  ];
}
