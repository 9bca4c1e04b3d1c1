import { useNavigate } from '@tanstack/react-router';
import { keepNewKey } from '../../first-hour/new-key.ts';
import { Unverified } from './shared/verification.tsx';
import { accountApi } from '../../api/api.ts';
import { readAgain } from '../../api/queries.ts';
import { Button } from '../../design/button.tsx';
import { TextField } from '../../design/fields.tsx';
import { Form, useForm } from '../../design/form.tsx';
import { PageHead } from '../../design/page-head.tsx';
import { Invitations, useInvitations } from './invitations.tsx';

export function Page() {
  const navigate = useNavigate();
  const invitations = useInvitations();
  const form = useForm({ name: '' }, async (values) => {
    const { id, secret } = await accountApi.post('/users/@me/projects', { body: values });
    keepNewKey(id, secret);
    await readAgain('projects');
    await navigate({ to: `/${id}/start` });
  });
  return (
    <>
      <PageHead title="Create a project" />
      <p className="second">
        A project has its own contacts, templates, domains and keys. Most people need one per
        product.
      </p>
      <Unverified />
      {invitations.data && invitations.data.length > 0 && <Invitations query={invitations} />}
      <Form form={form}>
        <TextField label="Name" {...form.field('name')} />
        <div className="actions">
          <Button kind="primary" type="submit" isBusy={form.isBusy}>
            Create project
          </Button>
        </div>
      </Form>
    </>
  );
}
