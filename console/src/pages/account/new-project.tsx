import { useNavigate } from '@tanstack/react-router';
import { accountApi } from '../../api/api.ts';
import { readAgain } from '../../api/queries.ts';
import { Button } from '../../design/button.tsx';
import { TextField } from '../../design/fields.tsx';
import { Form, useForm } from '../../design/form.tsx';
import { PageHead } from '../../design/page-head.tsx';

export function Page() {
  const navigate = useNavigate();
  const form = useForm({ name: '' }, async (values) => {
    const { id } = await accountApi.post('/users/@me/projects', { body: values });
    await readAgain('projects');
    await navigate({ to: `/${id}` });
  });
  return (
    <div className="plain">
      <main id="main">
        <PageHead title="Create a project" />
        <p className="second">
          A project has its own contacts, templates, domains and keys. Most people need one per
          product.
        </p>
        <Form form={form}>
          <TextField label="Name" {...form.field('name')} />
          <Button kind="primary" type="submit" isBusy={form.isBusy}>
            Create project
          </Button>
        </Form>
      </main>
    </div>
  );
}
