import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { accountApi, EverpostError } from '../../api/api.ts';
import { Button } from '../../design/button.tsx';
import { TextField } from '../../design/fields.tsx';
import { Form, useForm } from '../../design/form.tsx';
import { PageHead } from '../../design/page-head.tsx';
import { useAddress } from '../../shell/address.ts';

/** Chooses a new password, by the link of a mail. */
export function Page() {
  const [{ token }] = useAddress({ token: '' });
  const [isChanged, setChanged] = useState(false);
  const form = useForm({ newPassword: '' }, async (values) => {
    await accountApi.post('/auth/reset-password', { body: { token, ...values } });
    setChanged(true);
  });
  const isOver = isLinkFault(form.error);
  if (isOver) {
    return (
      <>
        <PageHead title="This link is no longer valid" />
        <p>It works once, for one hour.</p>
        <p>
          <Link to="/auth/forgot-password">Get a new link</Link>
        </p>
      </>
    );
  }
  return (
    <>
      <PageHead title="New password" />
      {isChanged ? (
        <p role="status">
          Your password is changed, and all sessions have ended.{' '}
          <Link to="/auth/login">Log in</Link> with the new one.
        </p>
      ) : (
        <Form form={form}>
          <TextField
            label="New password"
            type="password"
            autoComplete="new-password"
            hint="At least 8 characters, and none of the most common passwords."
            {...form.field('newPassword')}
          />
          <Button kind="primary" type="submit" isBusy={form.isBusy}>
            Save
          </Button>
        </Form>
      )}
    </>
  );
}

/**
 * Returns true if the token in the page's address was refused: the token is unknown, used, too old
 * or cut off.
 */
function isLinkFault(error: unknown): boolean {
  if (!(error instanceof EverpostError)) return false;
  return error.code === 'INVALID_TOKEN' || error.errors.some(({ field }) => field === 'token');
}
