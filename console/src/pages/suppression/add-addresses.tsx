import { useState } from 'react';
import type { Suppression } from '../../api/api.ts';
import { readAgain } from '../../api/queries.ts';
import { Button } from '../../design/button.tsx';
import { Dialog } from '../../design/dialog.tsx';
import { SelectField, TextArea } from '../../design/fields.tsx';
import { Form, useForm } from '../../design/form.tsx';
import { useNotify } from '../../design/notices.tsx';
import { useProject } from '../../shell/project.ts';
import { counted } from '../../words/numbers.ts';
import { suppressionScopes } from '../../words/reasons.ts';

/** Maximum number of addresses in a request. */
const batch = 1000;
const dayMs = 86_400_000;

const scopes = Object.entries(suppressionScopes).map(([value, text]) => ({ value, text }));
const ends = [
  { value: '', text: 'never' },
  ...[30, 90, 365].map((days) => ({ value: String(days), text: `after ${days} days` })),
];

interface Values {
  emails: string;
  scope: Suppression['scope'];
  /** Days until the entries end; empty: the entries have no end. */
  days: string;
}

/** Adds addresses to the list. Texts that are not addresses stay in the field. */
export function AddAddresses({ onClose }: { onClose: () => void }) {
  const { api, project } = useProject();
  const { say } = useNotify();
  const [invalid, setInvalid] = useState<readonly string[]>([]);
  const form = useForm<Values>(
    { emails: '', scope: 'marketing', days: '' },
    async ({ emails, scope, days }) => {
      const all = emails.split(/[\s,;]+/).filter((email) => email !== '');
      const until = days === '' ? null : new Date(Date.now() + Number(days) * dayMs).toISOString();
      const wrong: string[] = [];
      let stored = 0;
      for (let at = 0; at === 0 || at < all.length; at += batch) {
        const body = { emails: all.slice(at, at + batch), scope, until };
        const part = await api.post('/suppression-list', { body });
        stored += part.added + part.updated + part.unchanged;
        wrong.push(...part.invalid);
      }
      await readAgain(project.id, 'suppression');
      if (stored > 0) say(`${counted(stored, 'address', 'addresses')} on the list.`);
      setInvalid(wrong);
      if (wrong.length === 0) onClose();
      else form.set({ emails: wrong.join('\n') });
    },
  );
  const wrong = `${counted(invalid.length, 'line')} left out, because there is no address in it.`;
  return (
    <Dialog title="Add addresses" onClose={onClose}>
      <Form form={form}>
        <TextArea
          label="Addresses"
          {...form.field('emails')}
          error={form.errorOf('emails') ?? (invalid.length > 0 ? wrong : undefined)}
          hint="One a line."
        />
        <SelectField
          label="Effect"
          options={scopes}
          {...form.field('scope')}
          onChange={(next) => form.set({ scope: next as Suppression['scope'] })}
        />
        <SelectField label="Ends" options={ends} {...form.field('days')} />
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
