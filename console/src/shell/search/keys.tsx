import './search.css';
import { Fragment } from 'react';
import { Button } from '../../design/button.tsx';
import { Dialog } from '../../design/dialog.tsx';

const groups = [
  {
    name: 'Everywhere',
    keys: [
      [['/', 'Ctrl K', '⌘ K'], 'Search'],
      [['?'], 'Show these keys'],
      [['Tab', 'Shift Tab'], 'Go to the next or previous control'],
      [['Esc'], 'Close a dialog or menu'],
    ],
  },
  {
    name: 'In the search',
    keys: [
      [['↑', '↓'], 'Choose a result'],
      [['Enter'], 'Open the chosen result, at first the first one'],
    ],
  },
  {
    name: 'In the editor of a workflow',
    keys: [
      [['Del'], 'Delete the chosen step'],
      [['Ctrl Z', '⌘ Z'], 'Undo'],
      [['Ctrl Shift Z', '⌘ Shift Z'], 'Redo'],
      [['Ctrl S', '⌘ S'], 'Save'],
    ],
  },
] as const;

/** All keys of the console. */
export function Keys({ onClose }: { onClose: () => void }) {
  return (
    <Dialog title="Keys" onClose={onClose}>
      {groups.map(({ name, keys }) => (
        <section key={name} className="stack" aria-label={name}>
          <h3>{name}</h3>
          <dl className="keys">
            {keys.map(([each, does]) => (
              <Fragment key={does}>
                <dt>
                  {each.map((key, at) => (
                    <Fragment key={key}>
                      {at > 0 && ' or '}
                      <kbd>{key}</kbd>
                    </Fragment>
                  ))}
                </dt>
                <dd>{does}</dd>
              </Fragment>
            ))}
          </dl>
        </section>
      ))}
      <div className="actions">
        <Button onClick={onClose}>Close</Button>
      </div>
    </Dialog>
  );
}
