import { useState } from 'react';
import { useRead } from '../../../api/queries.ts';
import { Button } from '../../../design/button.tsx';
import { Dialog } from '../../../design/dialog.tsx';
import { SelectField, TextField } from '../../../design/fields.tsx';
import { Form, useForm } from '../../../design/form.tsx';
import { State } from '../../../design/parts.tsx';
import { Table } from '../../../design/table.tsx';
import { useProject } from '../../../shell/project.ts';
import { skipReasons } from '../../../words/settings/providers.ts';
import { messageTypes } from '../../../words/templates.ts';
import type { MessageClass } from './route-values.ts';

const classes = Object.entries(messageTypes).map(([value, text]) => ({ value, text }));

interface Preview {
  route: number | null;
  candidates: readonly {
    providerId: string;
    weight: number;
    reason: keyof typeof skipReasons | null;
  }[];
}

/** Shows by which providers a mail would leave now. Nothing is sent. */
export function TryMail({ onClose }: { onClose: () => void }) {
  const { api } = useProject();
  const [preview, setPreview] = useState<Preview | null>(null);
  const form = useForm<{ from: string; to: string; messageClass: MessageClass }>(
    { from: '', to: '', messageClass: 'MARKETING' },
    async (body) => setPreview(await api.post('/routing/preview', { body })),
  );
  return (
    <Dialog title="Try a mail" description="Nothing is sent." onClose={onClose}>
      <Form form={form}>
        <TextField label="From" type="email" autoComplete="off" {...form.field('from')} />
        <TextField label="To" type="email" autoComplete="off" {...form.field('to')} />
        <SelectField
          label="Kind"
          options={classes}
          {...form.field('messageClass')}
          onChange={(next) => form.set({ messageClass: next as MessageClass })}
        />
        {preview && <Result preview={preview} />}
        <div className="actions">
          <Button onClick={onClose}>Close</Button>
          <Button kind="primary" type="submit" isBusy={form.isBusy}>
            Show
          </Button>
        </div>
      </Form>
    </Dialog>
  );
}

function Result({ preview: { route, candidates } }: { preview: Preview }) {
  const { api, project } = useProject();
  const providers = useRead([project.id, 'providers'], () => api.get('/providers'));
  const nameOf = (id: string) => providers.data?.find((one) => one.id === id)?.name ?? id;
  return (
    <>
      <p role="status">
        {route === null ? 'No route of the project decides.' : `Route ${route + 1} decides.`} The
        providers are tried in this order:
      </p>
      <Table
        label="Providers for this mail"
        rows={candidates}
        keyOf={({ providerId }) => providerId}
        columns={[
          { name: 'Provider', cell: ({ providerId }) => nameOf(providerId) },
          { name: 'Share', isNumber: true, cell: ({ weight }) => weight },
          {
            name: 'State',
            cell: ({ reason }) =>
              reason === null ? (
                <State tone="good">Can take it</State>
              ) : (
                <State tone="warning">{skipReasons[reason]}</State>
              ),
          },
        ]}
      />
    </>
  );
}
