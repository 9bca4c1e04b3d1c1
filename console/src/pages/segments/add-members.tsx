import { useState } from 'react';
import { readAgain } from '../../api/queries.ts';
import { Button } from '../../design/button.tsx';
import { Dialog } from '../../design/dialog.tsx';
import { CheckField, TextArea } from '../../design/fields.tsx';
import { Form, useForm } from '../../design/form.tsx';
import { useNotify } from '../../design/notices.tsx';
import { useProject } from '../../shell/project.ts';
import { counted } from '../../words/numbers.ts';

/** Maximum number of addresses in a request. */
const batch = 500;

/** Adds contacts to a segment by their addresses. */
export function AddMembers({ id, onClose }: { id: string; onClose: () => void }) {
  const { api, project } = useProject();
  const { say } = useNotify();
  const [missing, setMissing] = useState<readonly string[]>([]);
  const form = useForm({ emails: '', createMissing: false }, async ({ emails, createMissing }) => {
    const all = emails.split(/[\s,;]+/).filter((email) => email !== '');
    const notFound: string[] = [];
    let added = 0;
    for (let at = 0; at === 0 || at < all.length; at += batch) {
      const body = { emails: all.slice(at, at + batch), createMissing };
      const part = await api.post('/segments/{id}/members', { path: { id }, body });
      added += part.added;
      notFound.push(...part.notFound);
    }
    await readAgain(project.id, 'segments');
    if (added > 0) say(`${counted(added, 'contact')} added.`);
    setMissing(notFound);
    if (notFound.length === 0) onClose();
    else form.set({ emails: notFound.join('\n') });
  });
  return (
    <Dialog title="Add members" onClose={onClose}>
      <Form form={form}>
        <TextArea
          label="Emails"
          {...form.field('emails')}
          error={
            form.errorOf('emails') ??
            (missing.length > 0
              ? `${counted(missing.length, 'address', 'addresses')} of no contact: see above.`
              : undefined)
          }
          hint="One address a line, or with commas between them."
        />
        <CheckField
          label="Create contacts that do not exist yet"
          {...form.field('createMissing')}
        />
        <div className="actions">
          <Button onClick={onClose}>Cancel</Button>
          <Button kind="primary" type="submit" isBusy={form.isBusy}>
            Add
          </Button>
        </div>
      </Form>
    </Dialog>
  );
}
