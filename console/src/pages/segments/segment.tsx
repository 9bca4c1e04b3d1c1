import './segments.css';
import { Link, useNavigate } from '@tanstack/react-router';
import { useEffect, useRef, useState } from 'react';
import { EverpostError, etagOf, type Segment } from '../../api/api.ts';
import { readAgain } from '../../api/queries.ts';
import { Button } from '../../design/button.tsx';
import { Conflict } from '../../editing/conflict.tsx';
import { Form, useForm } from '../../design/form.tsx';
import { useNotify } from '../../design/notices.tsx';
import { PageHead } from '../../design/page-head.tsx';
import { Bones } from '../../design/parts.tsx';
import { ProblemAlert } from '../../design/problem-alert.tsx';
import { useParam } from '../../shell/address.ts';
import { NotFound } from '../../shell/not-found-page.tsx';
import { useProject } from '../../shell/project.ts';
import { DeleteSegment } from './delete-segment.tsx';
import { Members } from './members.tsx';
import { bodyOf, SegmentFields, valuesOf } from './segment-form.tsx';
import { UsedBy } from './used-by.tsx';

export function Page() {
  const id = useParam('segmentId');
  return <Read key={id} id={id} />;
}

/**
 * Reads the segment once, because the form edits the version that was read. The ETag reveals a
 * later version.
 */
function Read({ id }: { id: string }) {
  const { api } = useProject();
  const [segment, setSegment] = useState<Segment | null>(null);
  const [error, setError] = useState<unknown>(null);
  const [tries, setTries] = useState(0);
  useEffect(() => {
    let isGone = false;
    setError(null);
    api.get('/segments/{id}', { path: { id } }).then(
      (data) => !isGone && setSegment(data),
      (failure: unknown) => !isGone && setError(failure),
    );
    return () => {
      isGone = true;
    };
  }, [api, id, tries]);
  if (error instanceof EverpostError && [404, 422].includes(error.status)) return <NotFound />;
  if (error) return <ProblemAlert error={error} onRetry={() => setTries(tries + 1)} />;
  return segment ? <Shown segment={segment} /> : <Bones />;
}

function Shown({ segment }: { segment: Segment }) {
  const { api, project, path } = useProject();
  const { say } = useNotify();
  const navigate = useNavigate();
  const base = useRef(segment);
  const [name, setName] = useState(segment.name);
  const { id } = segment;
  const read = () => api.get('/segments/{id}', { path: { id } });
  const show = (next: Segment) => {
    base.current = next;
    setName(next.name);
  };
  const form = useForm(valuesOf(segment), async (values) => {
    const body = bodyOf(values);
    show(await api.patch('/segments/{id}', { path: { id }, body, ifMatch: etagOf(base.current) }));
    await readAgain(project.id, 'segments');
    say('The segment is saved.');
  });
  const load = async () => {
    show(await read());
    form.reset(valuesOf(base.current));
  };
  const keep = async () => {
    base.current = await read();
    await form.send();
  };
  return (
    <>
      <PageHead
        title={name}
        project={project.name}
        trail={<Link to={path('segments')}>All segments</Link>}
        actions={
          <>
            <DeleteSegment
              segment={{ id, name }}
              onDeleted={() => void navigate({ to: path('segments') })}
            />
            <Button
              kind="primary"
              isBusy={form.isBusy}
              disabledBecause={!form.isChanged && 'Nothing has changed.'}
              onClick={() => void form.send()}
            >
              Save
            </Button>
          </>
        }
      />
      <Conflict error={form.error} onLoad={load} onKeep={keep} />
      <Form form={form} isWide>
        <SegmentFields form={form} />
      </Form>
      <Members id={id} isChosen={segment.type === 'STATIC'} />
      <UsedBy id={id} />
    </>
  );
}
