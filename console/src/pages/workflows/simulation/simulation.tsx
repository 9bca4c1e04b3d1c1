import { useState } from 'react';
import { Button } from '../../../design/button.tsx';
import { TextField } from '../../../design/fields.tsx';
import { ProblemAlert } from '../../../design/problem-alert.tsx';
import { type Journey, triggerKey } from '../../../journey/graph.ts';
import { useProject } from '../../../shell/project.ts';
import { type EventRow, EventRows, givenEvent } from './simulated-events.tsx';
import { Result } from './simulation-result.tsx';
import { type Played, play } from './play.ts';

/** Simulates the edited graph for one contact. Nothing is sent. */
export function Simulation({
  id,
  journey,
  onPlayed,
  onClose,
}: {
  id: string;
  journey: Journey;
  /** Called with the keys of the visited steps. */
  onPlayed: (keys: ReadonlySet<string>) => void;
  onClose: () => void;
}) {
  const { api } = useProject();
  const [contact, setContact] = useState('');
  const [events, setEvents] = useState<readonly EventRow[]>([]);
  const [played, setPlayed] = useState<Played | null>(null);
  const [isBusy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>(null);
  const run = async () => {
    if (isBusy) return;
    setBusy(true);
    setError(null);
    try {
      const result = await play(api, id, journey, contact, events.map(givenEvent));
      setPlayed(result);
      onPlayed(new Set([triggerKey, ...result.path.map(({ stepId }) => stepId)]));
    } catch (failure) {
      setError(failure);
    } finally {
      setBusy(false);
    }
  };
  return (
    <section className="card simulation" aria-labelledby="simulation">
      <header>
        <h2 id="simulation">Simulation</h2>
        <Button
          isSmall
          onClick={() => {
            onPlayed(new Set());
            onClose();
          }}
        >
          Close
        </Button>
      </header>
      <div className="body">
        <div className="columns">
          <div className="stack">
            <TextField
              label="Contact"
              type="email"
              value={contact}
              hint="The address of a contact, or any address for one that is made up. Empty: made up."
              autoComplete="off"
              onChange={setContact}
            />
            <EventRows rows={events} onChange={setEvents} />
            <div className="actions">
              <Button kind="primary" isBusy={isBusy} onClick={() => void run()}>
                Run
              </Button>
            </div>
            {Boolean(error) && <ProblemAlert error={error} />}
          </div>
          {played && <Result played={played} />}
        </div>
      </div>
    </section>
  );
}
