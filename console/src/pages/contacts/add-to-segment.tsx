import { useState } from 'react';
import type { Everpost } from '../../../../client/everpost.ts';
import { readAgain, useRead } from '../../api/queries.ts';
import { Button } from '../../design/button.tsx';
import { Dialog } from '../../design/dialog.tsx';
import { SelectField, TextField } from '../../design/fields.tsx';
import { Form, useForm } from '../../design/form.tsx';
import { useNotify } from '../../design/notices.tsx';
import { Progress } from '../../design/parts.tsx';
import { useProject } from '../../shell/project.ts';
import { counted } from '../../words/numbers.ts';
import { type Chosen, numberOf } from './use-chosen.ts';

const batch = 100;

/** Yields the addresses of the chosen contacts in batches, each for one request. */
async function* emailsOf(api: Everpost, chosen: Chosen): AsyncGenerator<string[]> {
  if (chosen.kind === 'these') {
    for (let at = 0; at < chosen.emails.length; at += batch) {
      yield chosen.emails.slice(at, at + batch);
    }
    return;
  }
  for (let cursor: string | undefined; ;) {
    const body = { ...chosen.filter, limit: batch, ...(cursor !== undefined && { cursor }) };
    const page = await api.post('/contacts/query', { body });
    if (page.data.length > 0) yield page.data.map(({ email }) => email);
    if (!page.hasMore || page.cursor === undefined) return;
    ({ cursor } = page);
  }
}

/** Adds the chosen contacts to a segment with hand-picked members, which may be new. */
export function AddToSegment({
  chosen,
  onClose,
  onDone,
}: {
  chosen: Chosen;
  onClose: () => void;
  onDone: () => void;
}) {
  const { api, project } = useProject();
  const { say } = useNotify();
  const [added, setAdded] = useState(0);
  const total = numberOf(chosen);
  const segments = useRead([project.id, 'segments', 'all'], () => api.get('/segments'));
  const form = useForm({ segment: '', name: '' }, async ({ segment, name }) => {
    const body = { name, type: 'STATIC' as const };
    const id = segment === '' ? (await api.post('/segments', { body })).id : segment;
    form.set({ segment: id });
    let sum = 0;
    for await (const emails of emailsOf(api, chosen)) {
      sum += (await api.post('/segments/{id}/members', { path: { id }, body: { emails } })).added;
      setAdded(sum);
    }
    await readAgain(project.id, 'segments');
    say(`${counted(sum, 'contact')} added to the segment.`);
    onClose();
    onDone();
  });
  const options = (segments.data ?? []).filter(({ type }) => type === 'STATIC');
  return (
    <Dialog
      title="Add to segment"
      description={`${counted(total, 'contact')} become members. Only segments with chosen members are listed: the others choose theirs by a filter.`}
      onClose={onClose}
    >
      <Form form={form}>
        <SelectField
          label="Segment"
          {...form.field('segment')}
          options={[
            { value: '', text: 'New segment' },
            ...options.map(({ id, name }) => ({ value: id, text: name })),
          ]}
        />
        {form.values.segment === '' && (
          <TextField label="Name" {...form.field('name')} autoComplete="off" />
        )}
        {form.isBusy && <Progress label="Progress" value={(100 * added) / Math.max(1, total)} />}
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
