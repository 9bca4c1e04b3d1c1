import './segments.css';
import { Link, useNavigate } from '@tanstack/react-router';
import { readAgain } from '../../api/queries.ts';
import { Button } from '../../design/button.tsx';
import { Form, useForm } from '../../design/form.tsx';
import { PageHead } from '../../design/page-head.tsx';
import { useProject } from '../../shell/project.ts';
import { bodyOf, newSegment, SegmentFields } from './segment-form.tsx';

export function Page() {
  const { api, project, path } = useProject();
  const navigate = useNavigate();
  const form = useForm(newSegment, async (values) => {
    const { id } = await api.post('/segments', { body: { ...bodyOf(values), type: values.type } });
    await readAgain(project.id, 'segments');
    void navigate({ to: path(`segments/${id}`) });
  });
  return (
    <>
      <PageHead
        title="New segment"
        project={project.name}
        trail={<Link to={path('segments')}>All segments</Link>}
        actions={
          <Button kind="primary" isBusy={form.isBusy} onClick={() => void form.send()}>
            Save
          </Button>
        }
      />
      <Form form={form} isWide>
        <SegmentFields form={form} isNew />
      </Form>
    </>
  );
}
