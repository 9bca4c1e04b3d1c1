import { accountApi, EverpostError } from '../../../api/api.ts';
import { readAgain } from '../../../api/queries.ts';
import { base } from '../../../api/session.ts';
import { Button } from '../../../design/button.tsx';
import { SelectField, TextField } from '../../../design/fields.tsx';
import { Form, useForm } from '../../../design/form.tsx';
import { useNotify } from '../../../design/notices.tsx';
import { Card, CopyButton } from '../../../design/parts.tsx';
import { useProject } from '../../../shell/project.ts';
import { roleNames } from './roles.ts';

const roles = [
  { value: 'MEMBER', text: roleNames.MEMBER },
  { value: 'ADMIN', text: roleNames.ADMIN },
];

const isUnknown = (error: unknown) =>
  error instanceof EverpostError && error.code === 'USER_NOT_FOUND';

/** Invites a person by address. The person needs an account. */
export function Invite() {
  const { project, adminOnly } = useProject();
  const { say } = useNotify();
  const form = useForm({ email: '', role: 'MEMBER' }, async ({ email, role }) => {
    const { data } = await accountApi.post('/projects/{id}/members', {
      path: { id: project.id },
      body: { email, role: role as 'ADMIN' | 'MEMBER' },
    });
    await readAgain(project.id, 'members');
    say(data.status === 'invited' ? `${data.email} is invited.` : `${data.email} is a member now.`);
    form.reset({ email: '', role: 'MEMBER' });
  });
  const unknown = isUnknown(form.error);
  return (
    <Card label="New member">
      <Form form={unknown ? { ...form, error: null } : form} isWide>
        {unknown && <NoAccount email={form.values.email} />}
        <div className="toolbar">
          <TextField
            label="Email"
            type="email"
            autoComplete="off"
            disabled={adminOnly !== null}
            {...form.field('email')}
          />
          <SelectField
            label="Role"
            options={roles}
            disabled={adminOnly !== null}
            {...form.field('role')}
          />
          <Button kind="primary" type="submit" isBusy={form.isBusy} disabledBecause={adminOnly}>
            Invite
          </Button>
        </div>
        <p className="second small">
          {adminOnly ??
            'Administrators may also change settings, keys, domains and members. The person sees nothing of the project before accepting.'}
        </p>
      </Form>
    </Card>
  );
}

function NoAccount({ email }: { email: string }) {
  const address = `${location.origin}${base}/auth/signup`;
  return (
    <div className="alert warning" role="alert">
      <strong>{email} has no account on this server.</strong>
      <span>The person has to sign up first, and can be invited then. Send them this address:</span>
      <span className="actions">
        <code>{address}</code>
        <CopyButton text={address}>Copy address</CopyButton>
      </span>
    </div>
  );
}
