import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { readAgain } from '../../api/queries.ts';
import { Button } from '../../design/button.tsx';
import { useProject } from '../../shell/project.ts';
import { AddContact } from '../contacts/add-contact.tsx';
import { StepCard } from './step-card.tsx';

interface Props {
  isDone: boolean | undefined;
}

export function Contacts({ isDone }: Props) {
  const { path, project } = useProject();
  const [isAdding, setAdding] = useState(false);
  const close = () => {
    setAdding(false);
    void readAgain(project.id, 'start');
  };
  return (
    <StepCard label="Contacts" isDone={isDone}>
      <p>Contacts are the people who get your mail. Add one, or import a CSV file.</p>
      <div className="actions">
        <Button onClick={() => setAdding(true)}>Add contact</Button>
        <Link className="button" to={path('contacts/import')}>
          Import
        </Link>
      </div>
      {isAdding && <AddContact onClose={close} />}
    </StepCard>
  );
}

export function FirstWorkflow({ isDone }: Props) {
  const { path } = useProject();
  return (
    <StepCard label="First workflow" isDone={isDone}>
      <p>
        A workflow sends mail by itself, for example after a sign-up. Begin with a ready one, and
        enable it.
      </p>
      <div className="actions">
        <Link className="button" to={path('workflows/new')}>
          Choose a workflow
        </Link>
      </div>
    </StepCard>
  );
}
