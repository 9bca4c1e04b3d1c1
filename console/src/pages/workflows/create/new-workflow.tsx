import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { Button } from '../../../design/button.tsx';
import { PageHead } from '../../../design/page-head.tsx';
import { readyJourneys } from '../../../journey/ready/all.ts';
import { journeyOf, type Ready } from '../../../journey/ready/ready.ts';
import { useProject } from '../../../shell/project.ts';
import { CreateDialog } from './create-dialog.tsx';
import { MiniPicture } from './mini-picture.tsx';
import '../shared/workflows.css';

/** A new workflow, which is blank or ready-made. */
export function Page() {
  const { project, path } = useProject();
  const [chosen, setChosen] = useState<Ready | 'blank' | null>(null);
  return (
    <>
      <PageHead
        title="New workflow"
        project={project.name}
        trail={<Link to={path('workflows')}>All workflows</Link>}
        actions={<Button onClick={() => setChosen('blank')}>Blank workflow</Button>}
      />
      <p className="second">
        A workflow leads each contact from an event through mails and waits. Begin with a ready one,
        and change what you like.
      </p>
      <ul className="gallery" aria-label="Ready workflows">
        {readyJourneys.map((ready) => (
          <Item key={ready.name} ready={ready} onUse={() => setChosen(ready)} />
        ))}
      </ul>
      {chosen && (
        <CreateDialog ready={chosen === 'blank' ? null : chosen} onClose={() => setChosen(null)} />
      )}
    </>
  );
}

function Item({ ready, onUse }: { ready: Ready; onUse: () => void }) {
  const { name, description, eventName } = ready;
  return (
    <li className="card" aria-label={name}>
      <div className="picture">
        <MiniPicture journey={journeyOf(ready, { name, eventName }, new Map())} />
      </div>
      <div className="body">
        <h2>{name}</h2>
        <p className="second">{description}</p>
        <p className="small second">
          Starts with <code>{eventName}</code>
        </p>
        <div className="actions">
          <Button onClick={onUse}>Use</Button>
        </div>
      </div>
    </li>
  );
}
