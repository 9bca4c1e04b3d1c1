import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { accountApi } from '../../api/api.ts';
import { useRead } from '../../api/queries.ts';
import { base } from '../../api/session.ts';
import { Button } from '../../design/button.tsx';
import { Dialog } from '../../design/dialog.tsx';
import { TextField } from '../../design/fields.tsx';
import { Form, useForm } from '../../design/form.tsx';
import { Card } from '../../design/parts.tsx';
import { useUser } from '../../shell/user.ts';

/**
 * Deletes the account. Owners must first delete the projects that they own, so that no project is
 * left without an owner.
 */
export function DeleteAccount() {
  const { data: projects } = useRead(['projects'], () => accountApi.get('/users/@me/projects'));
  const [isAsking, setAsking] = useState(false);
  const owned = (projects ?? []).filter(({ role }) => role === 'OWNER');
  return (
    <Card label="Delete account">
      {owned.length > 0 ? (
        <p>
          You own{' '}
          {owned.map(({ id, name }, at) => (
            <span key={id}>
              {at > 0 && ', '}
              <Link to={`/${id}/settings`}>{name}</Link>
            </span>
          ))}
          . Delete {owned.length === 1 ? 'this project' : 'these projects'} first.
        </p>
      ) : (
        <p>Your memberships, sessions and second factors end with it. Nothing brings it back.</p>
      )}
      <div className="actions">
        <Button
          kind="danger"
          disabledBecause={owned.length > 0 && 'You own projects. Delete them first.'}
          onClick={() => setAsking(true)}
        >
          Delete account
        </Button>
      </div>
      {isAsking && <Confirmation onClose={() => setAsking(false)} />}
    </Card>
  );
}

function Confirmation({ onClose }: { onClose: () => void }) {
  const { email, type } = useUser();
  const hasPassword = type === 'PASSWORD';
  const form = useForm({ password: '' }, async ({ password }) => {
    await accountApi.delete('/users/@me', { body: hasPassword ? { password } : {} });
    location.assign(`${base}/auth/login`);
  });
  return (
    <Dialog
      title="Delete account?"
      description={`The account ${email} is deleted for good, with its memberships.`}
      onClose={onClose}
    >
      <Form form={form}>
        {hasPassword && (
          <TextField
            label="Password"
            type="password"
            autoComplete="current-password"
            {...form.field('password')}
          />
        )}
        <div className="actions">
          <Button onClick={onClose}>Keep</Button>
          <Button kind="danger" type="submit" isBusy={form.isBusy}>
            Delete account
          </Button>
        </div>
      </Form>
    </Dialog>
  );
}
