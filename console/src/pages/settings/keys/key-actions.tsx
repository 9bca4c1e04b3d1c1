import { useState } from 'react';
import type { ApiKey } from '../../../api/api.ts';
import { readAgain } from '../../../api/queries.ts';
import { Button } from '../../../design/button.tsx';
import { useConfirm } from '../../../design/confirm.tsx';
import { Dialog } from '../../../design/dialog.tsx';
import { SelectField } from '../../../design/fields.tsx';
import { Form, useForm } from '../../../design/form.tsx';
import { useProject } from '../../../shell/project.ts';
import { counted } from '../../../words/numbers.ts';
import { relativeTime } from '../../../words/times.ts';
import { EndField, KeyFields } from './key-fields.tsx';
import { changedSettings, endOf, valuesOfKey } from './key-values.ts';
import { NewValue } from './new-key.tsx';
import { madeBy, useKeys } from '../shared/use-keys.ts';
import { useUntilLeft } from '../shared/use-until-left.ts';

/** Changes, replaces and ends a named key. */
export function KeyActions({ apiKey }: { apiKey: ApiKey }) {
  const { api, project, adminOnly } = useProject();
  const confirm = useConfirm();
  const { data: keys = [] } = useKeys();
  const [open, setOpen] = useState<'change' | 'rotate' | null>(null);
  const { id, name, lastUsedAt } = apiKey;
  const ends = madeBy(id, keys).length;
  const askRevoke = () =>
    confirm({
      title: `Revoke ${name}?`,
      text: [
        'Programs with this key are refused at once, for ever.',
        lastUsedAt === null
          ? 'It was never used.'
          : `It was last used ${relativeTime(lastUsedAt)}.`,
        ...(ends > 0 ? [`Also revoked: ${counted(ends, 'key')} that it has made.`] : []),
      ].join(' '),
      verb: 'Revoke',
      send: async () => {
        await api.delete('/api-keys/{id}', { path: { id } });
        await readAgain(project.id, 'keys');
      },
    });
  const close = () => setOpen(null);
  return (
    <>
      <Button disabledBecause={adminOnly} onClick={() => setOpen('change')}>
        Edit
      </Button>
      <Button disabledBecause={adminOnly} onClick={() => setOpen('rotate')}>
        Rotate
      </Button>
      <Button kind="danger" disabledBecause={adminOnly} onClick={askRevoke}>
        Revoke
      </Button>
      {open === 'change' && <ChangeKey apiKey={apiKey} onClose={close} />}
      {open === 'rotate' && <RotateKey apiKey={apiKey} onClose={close} />}
    </>
  );
}

function ChangeKey({ apiKey, onClose }: { apiKey: ApiKey; onClose: () => void }) {
  const { api, project } = useProject();
  const before = valuesOfKey(apiKey);
  const form = useForm(before, async (values) => {
    const body = changedSettings(values, before);
    await api.patch('/api-keys/{id}', { path: { id: apiKey.id }, body });
    await readAgain(project.id, 'keys');
    onClose();
  });
  return (
    <Dialog title={`Edit ${apiKey.name}`} size="wide" onClose={onClose}>
      <Form form={form} isWide>
        <KeyFields form={form} isNew={false} />
        <div className="actions">
          <Button onClick={onClose}>Close</Button>
          <Button kind="primary" type="submit" isBusy={form.isBusy}>
            Save
          </Button>
        </div>
      </Form>
    </Dialog>
  );
}

const overlaps = [
  { value: '0', text: 'Ends at once' },
  { value: '3600', text: 'Works for another hour' },
  { value: '86400', text: 'Works for another day' },
  { value: '604800', text: 'Works for another 7 days' },
];

/**
 * Replaces the value of a key. For a while, the old value can work as well, so that no program is
 * cut off.
 */
function RotateKey({ apiKey, onClose }: { apiKey: ApiKey; onClose: () => void }) {
  const { api, project } = useProject();
  const [made, setMade] = useUntilLeft<ApiKey>();
  const { expiresAt } = valuesOfKey(apiKey);
  const form = useForm({ overlapSeconds: '86400', expiresAt }, async (values) => {
    const body = {
      overlapSeconds: Number(values.overlapSeconds),
      ...(values.expiresAt !== expiresAt && { expiresAt: endOf(values.expiresAt) }),
    };
    setMade(await api.post('/api-keys/{id}/rotate', { path: { id: apiKey.id }, body }));
    await readAgain(project.id, 'keys');
  });
  if (made) return <NewValue apiKey={made} onClose={onClose} />;
  return (
    <Dialog
      title={`Rotate ${apiKey.name}`}
      description={
        apiKey.rotatesUntil === null
          ? 'The key gets a new value; all else stays.'
          : 'The key is being replaced already. Its value before the present one ends at once.'
      }
      onClose={onClose}
    >
      <Form form={form}>
        <SelectField label="Present value" options={overlaps} {...form.field('overlapSeconds')} />
        <EndField {...form.field('expiresAt')} />
        <div className="actions">
          <Button onClick={onClose}>Close</Button>
          <Button kind="primary" type="submit" isBusy={form.isBusy}>
            Rotate
          </Button>
        </div>
      </Form>
    </Dialog>
  );
}
