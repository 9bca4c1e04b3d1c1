import { useState } from 'react';
import { readAgain, useRead } from '../../api/queries.ts';
import { CheckField } from '../../design/fields.tsx';
import { useNotify } from '../../design/notices.tsx';
import { Card, Loaded } from '../../design/parts.tsx';
import { useProject } from '../../shell/project.ts';

/** The kinds of marketing mail that the contact gets; a switch applies at once. */
export function TopicsCard({ id }: { id: string }) {
  const { api, project } = useProject();
  const topics = useRead([project.id, 'contacts', 'topics', id], () =>
    api.get('/contacts/{id}/topics', { path: { id } }),
  );
  const [chosen, setChosen] = useState<Record<string, boolean | undefined>>({});
  const { fail } = useNotify();
  // The switch changes at once, and changes back if the server refuses the choice.
  const choose = async (key: string, subscribed: boolean) => {
    setChosen((before) => ({ ...before, [key]: subscribed }));
    try {
      await put(key, subscribed);
    } catch (error) {
      fail(error);
    }
    setChosen((before) => ({ ...before, [key]: undefined }));
  };
  const put = async (key: string, subscribed: boolean) => {
    await api.put('/contacts/{id}/topics', {
      path: { id },
      body: { topics: { [key]: subscribed } },
    });
    await readAgain(project.id, 'contacts');
  };
  return (
    <Card label="Topics">
      <Loaded query={topics} lines={1}>
        {(all) =>
          all.length === 0 ? (
            <p className="second">This project has no topics.</p>
          ) : (
            all.map(({ key, name, subscribed, explicit }) => (
              <CheckField
                key={key}
                role="switch"
                label={name}
                hint={explicit ? undefined : 'The default: no choice was made.'}
                value={chosen[key] ?? subscribed}
                onChange={(next) => void choose(key, next)}
              />
            ))
          )
        }
      </Loaded>
    </Card>
  );
}
