import { readAgain } from '../../api/queries.ts';
import { Button } from '../../design/button.tsx';
import { useDeletion } from '../../editing/deletion.tsx';
import { useProject } from '../../shell/project.ts';

interface Named {
  id: string;
  name: string;
}

const kinds = [
  ['campaigns', 'Campaign'],
  ['segments', 'Segment'],
  ['workflows', 'Workflow'],
] as const;

/** Deletes a segment. If the segment is in use, links to its uses are shown. */
export function DeleteSegment({
  segment: { id, name },
  onDeleted,
}: {
  segment: Named;
  onDeleted: () => void;
}) {
  const { api, project, path } = useProject();
  const { ask, dialog } = useDeletion();
  const remove = () =>
    ask({
      name,
      text: 'The segment is lost, with the list of its members. The contacts stay.',
      async send() {
        await api.delete('/segments/{id}', { path: { id } });
        await readAgain(project.id, 'segments');
        onDeleted();
      },
      usesIn: (details) =>
        kinds.flatMap(([kind, word]) =>
          ((details[kind] as readonly Named[] | undefined) ?? []).map((use) => ({
            text: `${word} ${use.name}`,
            to: path(`${kind}/${use.id}`),
          })),
        ),
    });
  return (
    <>
      <Button kind="danger" onClick={remove}>
        Delete
      </Button>
      {dialog}
    </>
  );
}
