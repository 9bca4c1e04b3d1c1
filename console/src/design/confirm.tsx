import { Dialog as Radix } from 'radix-ui';
import { createContext, type ReactNode, useContext, useState } from 'react';
import { Button } from './button.tsx';
import { TextField } from './fields.tsx';
import { ProblemAlert } from './problem-alert.tsx';

interface Question {
  /** The action and its object: `Delete project`. */
  title: string;
  /** The text that names what will be lost, with numbers. */
  text: ReactNode;
  /** Name of the button that confirms. It repeats the verb of the title. */
  verb: string;
  /** A name that the user must type to confirm. */
  typed?: string;
  /** False: the action loses no data. */
  isDangerous?: boolean;
  /** The action. If it fails, the dialog shows the error and stays open. */
  send: () => Promise<unknown>;
}

type Ask = (question: Question) => void;

const Context = createContext<Ask>(() => {});

/** Asks the user to confirm actions that cannot be undone. */
export function Confirmations({ children }: { children: ReactNode }) {
  const [question, setQuestion] = useState<Question | null>(null);
  return (
    <Context.Provider value={setQuestion}>
      {children}
      {question && <Confirmation question={question} onClose={() => setQuestion(null)} />}
    </Context.Provider>
  );
}

export const useConfirm = (): Ask => useContext(Context);

function Confirmation({ question, onClose }: { question: Question; onClose: () => void }) {
  const { title, text, verb, typed, isDangerous = true, send } = question;
  const [name, setName] = useState('');
  const [isBusy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>(null);
  const work = async () => {
    setBusy(true);
    setError(null);
    try {
      await send();
      onClose();
    } catch (failure) {
      setError(failure);
      setBusy(false);
    }
  };
  const missing = typed !== undefined && name.trim() !== typed && `Type ${typed} first.`;
  return (
    <Radix.Root open onOpenChange={(isOpen) => !isOpen && onClose()}>
      <Radix.Portal>
        <Radix.Overlay className="veil" />
        <Radix.Content className="dialog" aria-describedby="confirm-text">
          <Radix.Title>{title}</Radix.Title>
          <div id="confirm-text">{text}</div>
          {typed !== undefined && (
            <TextField
              label={`Type “${typed}” to go on`}
              value={name}
              onChange={setName}
              autoComplete="off"
            />
          )}
          {Boolean(error) && <ProblemAlert error={error} />}
          <div className="actions">
            <Button onClick={onClose}>Keep</Button>
            <Button
              kind={isDangerous ? 'danger' : 'primary'}
              isBusy={isBusy}
              disabledBecause={missing}
              onClick={() => void work()}
            >
              {verb}
            </Button>
          </div>
        </Radix.Content>
      </Radix.Portal>
    </Radix.Root>
  );
}
