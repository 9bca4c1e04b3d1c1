import { useState } from 'react';
import { accountApi, type Factor } from '../../../api/api.ts';
import { readAgain } from '../../../api/queries.ts';
import { Button } from '../../../design/button.tsx';
import { useConfirm } from '../../../design/confirm.tsx';
import { Dialog } from '../../../design/dialog.tsx';
import { TextField } from '../../../design/fields.tsx';
import { Form, useForm } from '../../../design/form.tsx';

export function FactorActions({ factor }: { factor: Factor }) {
  const [isRenaming, setRenaming] = useState(false);
  const confirm = useConfirm();
  const remove = () =>
    confirm({
      title: `Remove ${factor.name}?`,
      text: 'You can no longer log in with it. With the last factor, the recovery codes go too.',
      verb: 'Remove',
      async send() {
        await accountApi.delete('/users/@me/factors/{id}', { path: { id: factor.id } });
        await readAgain('factors');
      },
    });
  return (
    <span className="actions">
      <Button isSmall onClick={() => setRenaming(true)}>
        Rename
      </Button>
      <Button isSmall onClick={remove}>
        Remove
      </Button>
      {isRenaming && <Rename factor={factor} onClose={() => setRenaming(false)} />}
    </span>
  );
}

function Rename({ factor: { id, name }, onClose }: { factor: Factor; onClose: () => void }) {
  const form = useForm({ name }, async (body) => {
    await accountApi.patch('/users/@me/factors/{id}', { path: { id }, body });
    await readAgain('factors');
    onClose();
  });
  return (
    <Dialog title="Rename" onClose={onClose}>
      <Form form={form}>
        <TextField label="Name" autoComplete="off" {...form.field('name')} />
        <div className="actions">
          <Button onClick={onClose}>Cancel</Button>
          <Button kind="primary" type="submit" isBusy={form.isBusy}>
            Save
          </Button>
        </div>
      </Form>
    </Dialog>
  );
}
