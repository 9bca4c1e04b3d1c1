import './search.css';
import { type KeyboardEvent, useEffect, useId, useState } from 'react';
import { Dialog } from '../../design/dialog.tsx';
import { ProblemAlert } from '../../design/problem-alert.tsx';
import { type Result, type SearchedProject, useResults } from './use-results.ts';

/**
 * Finds contacts, workflows, campaigns, templates, segments and pages. Enter opens the chosen
 * result.
 */
export function Search({
  project,
  onOpen,
  onClose,
}: {
  project: SearchedProject;
  /** Opens a page of the project. */
  onOpen: (page: string) => void;
  onClose: () => void;
}) {
  const id = useId();
  const [text, setText] = useState('');
  const [at, setAt] = useState(0);
  const [isEntered, setEntered] = useState(false);
  const { results, isSettled, error } = useResults(project, text);
  const open = ({ page }: Result) => {
    onClose();
    onOpen(page);
  };
  const chosen = results[at];
  // If Enter is pressed before the results arrive, the first result opens when it is known.
  useEffect(() => {
    if (!isEntered || !(isSettled || error)) return;
    setEntered(false);
    if (chosen) open(chosen);
  });
  const press = (event: KeyboardEvent) => {
    const steps: Record<string, number> = { ArrowDown: 1, ArrowUp: -1 };
    const step = steps[event.key];
    if (step !== undefined) {
      event.preventDefault();
      setAt(Math.max(0, Math.min(results.length - 1, at + step)));
    } else if (event.key === 'Enter') {
      event.preventDefault();
      if (text.trim() !== '') setEntered(true);
    }
  };
  return (
    <Dialog title="Search" hidesTitle onClose={onClose}>
      <input
        className="input"
        type="search"
        role="combobox"
        aria-label="Search this project"
        aria-expanded={results.length > 0}
        aria-controls={`${id}-results`}
        aria-activedescendant={chosen && `${id}-${at}`}
        aria-autocomplete="list"
        placeholder="An address, a name, or a page"
        maxLength={100}
        autoComplete="off"
        // oxlint-disable-next-line jsx-a11y/no-autofocus -- A dialog begins at its first field.
        autoFocus
        value={text}
        onChange={(event) => {
          setText(event.target.value);
          setAt(0);
          setEntered(false);
        }}
        onKeyDown={press}
      />
      {Boolean(error) && <ProblemAlert error={error} />}
      <Results id={id} results={results} at={at} onAt={setAt} onOpen={open} />
      {text.trim() !== '' && results.length === 0 && (
        <p className="second" role="status">
          {isSettled ? `Nothing has “${text.trim()}” in its name.` : 'Searching…'}
        </p>
      )}
    </Dialog>
  );
}

function Results({
  id,
  results,
  at,
  onAt,
  onOpen,
}: {
  id: string;
  results: readonly Result[];
  /** Index of the chosen result. */
  at: number;
  onAt: (index: number) => void;
  onOpen: (result: Result) => void;
}) {
  return (
    <ul className="results" role="listbox" aria-label="Results" id={`${id}-results`}>
      {results.map((result, index) => (
        <li
          key={result.kind + result.page + result.name}
          id={`${id}-${index}`}
          role="option"
          aria-selected={index === at}
          onMouseMove={() => onAt(index)}
          onClick={() => onOpen(result)}
        >
          <span>{result.name}</span>
          <span className="second small">{result.kind}</span>
        </li>
      ))}
    </ul>
  );
}
