import { useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import type { Condition } from '../api/api.ts';
import { readAgain } from '../api/queries.ts';
import { Button } from '../design/button.tsx';
import { Dialog } from '../design/dialog.tsx';
import { TextField } from '../design/fields.tsx';
import { Form, useForm } from '../design/form.tsx';
import { useProject } from '../shell/project.ts';

/** Saves a filter as a segment, and opens the segment. */
export function SaveAsSegment({ condition }: { condition: Condition | null }) {
  const [isOpen, setOpen] = useState(false);
  return (
    <>
      <Button
        isSmall
        disabledBecause={!condition && 'Add a condition first.'}
        onClick={() => setOpen(true)}
      >
        Save as segment
      </Button>
      {isOpen && condition && <NameDialog condition={condition} onClose={() => setOpen(false)} />}
    </>
  );
}

function NameDialog({ condition, onClose }: { condition: Condition; onClose: () => void }) {
  const { api, path, project } = useProject();
  const navigate = useNavigate();
  const form = useForm({ name: '' }, async ({ name }) => {
    const { id } = await api.post('/segments', { body: { name, condition } });
    await readAgain(project.id, 'segments');
    onClose();
    void navigate({ to: path(`segments/${id}`) });
  });
  return (
    <Dialog
      title="Save as segment"
      description="Its members are always the contacts that match now."
      onClose={onClose}
    >
      <Form form={form}>
        <TextField label="Name" {...form.field('name')} autoComplete="off" />
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
