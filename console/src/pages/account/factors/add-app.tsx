import { useQuery } from '@tanstack/react-query';
import { accountApi, type NewFactor, randomId } from '../../../api/api.ts';
import { Button } from '../../../design/button.tsx';
import { Dialog } from '../../../design/dialog.tsx';
import { TextField } from '../../../design/fields.tsx';
import { Form, useForm } from '../../../design/form.tsx';
import { Loaded } from '../../../design/parts.tsx';
import { useState } from 'react';
import { QrCode } from './qr-code.tsx';

/**
 * The dialog that adds an authenticator app. It shows the secret, and asks for the first code of
 * the app.
 */
export function AddApp({
  onAdded,
  onClose,
}: {
  onAdded: (added: NewFactor) => void;
  onClose: () => void;
}) {
  const [opened] = useState(randomId);
  const begun = useQuery({
    queryKey: ['new authenticator app', opened],
    queryFn: () => accountApi.post('/users/@me/factors/totp', { body: {} }),
    retry: false,
    staleTime: Infinity,
    gcTime: 0,
    refetchOnWindowFocus: false,
  });
  const form = useForm({ code: '' }, async (body) => {
    const path = { id: begun.data?.id ?? '' };
    onAdded(await accountApi.post('/users/@me/factors/totp/{id}/confirm', { path, body }));
  });
  return (
    <Dialog
      title="Add an authenticator app"
      description="Scan the picture with the app, or type the secret into it. Then enter the code that the app shows, within 10 minutes."
      onClose={onClose}
    >
      <Loaded query={begun}>
        {({ secret, uri }) => (
          <>
            <QrCode text={uri} label="The secret, for the camera of the app" />
            <code>{secret.replaceAll(/(.{4})(?=.)/g, '$1 ')}</code>
            <Form form={form}>
              <TextField
                label="Code"
                inputMode="numeric"
                autoComplete="one-time-code"
                {...form.field('code')}
              />
              <div className="actions">
                <Button onClick={onClose}>Cancel</Button>
                <Button kind="primary" type="submit" isBusy={form.isBusy}>
                  Confirm
                </Button>
              </div>
            </Form>
          </>
        )}
      </Loaded>
    </Dialog>
  );
}
