import { useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import type { Contact } from '../../api/api.ts';
import { readAgain, useRead } from '../../api/queries.ts';
import { Button } from '../../design/button.tsx';
import { useConfirm } from '../../design/confirm.tsx';
import { Menu } from '../../design/menu.tsx';
import { useNotify } from '../../design/notices.tsx';
import { saveFile } from '../../shell/save-file.ts';
import { useAction } from '../../design/use-action.ts';
import { useProject } from '../../shell/project.ts';
import { counted } from '../../words/numbers.ts';
import { EditContact } from './edit-contact.tsx';
import { StartWorkflow } from './start-workflow.tsx';
import { TrackEvent } from './track-event.tsx';

type Open = 'workflow' | 'event' | null;

export function ContactActions({ contact }: { contact: Contact }) {
  const { project, api } = useProject();
  const { id, email, subscribed } = contact;
  const [open, setOpen] = useState<Open>(null);
  const [edited, setEdited] = useState<Contact | null>(null);
  const reloaded = () => readAgain(project.id, 'contacts');
  const edit = useAction(async () => setEdited(await api.get('/contacts/{id}', { path: { id } })));
  const subscribe = useAction(async () => {
    await api.patch('/contacts/{id}', { path: { id }, body: { subscribed: !subscribed } });
    await reloaded();
  });
  const save = useAction(async () => {
    const all = await api.get('/contacts/{id}/export', { path: { id } });
    saveFile(`${email}.json`, new Blob([JSON.stringify(all, null, 2)]));
  });
  const erase = useErase(contact);
  return (
    <>
      <Button isBusy={edit.isBusy} onClick={() => void edit.run()}>
        Edit
      </Button>
      <Button isBusy={subscribe.isBusy} onClick={() => void subscribe.run()}>
        {subscribed ? 'Unsubscribe' : 'Subscribe'}
      </Button>
      <Button onClick={() => setOpen('workflow')}>Start workflow</Button>
      <Button onClick={() => setOpen('event')}>Track event</Button>
      <Menu
        button={<Button isBusy={save.isBusy}>More</Button>}
        items={[
          { text: 'Export data', onChoose: () => void save.run() },
          { kind: 'line' },
          { text: 'Erase', onChoose: erase },
        ]}
      />
      {edited && (
        <EditContact contact={edited} onClose={() => setEdited(null)} onSaved={reloaded} />
      )}
      {open === 'workflow' && <StartWorkflow id={id} onClose={() => setOpen(null)} />}
      {open === 'event' && <TrackEvent id={id} onClose={() => setOpen(null)} />}
    </>
  );
}

/**
 * Erases a contact. The user must type the address to confirm, because erasing cannot be undone.
 */
function useErase({ id, email }: Contact): () => void {
  const { project, api, path } = useProject();
  const confirm = useConfirm();
  const navigate = useNavigate();
  const { say } = useNotify();
  const emails = useRead([project.id, 'contacts', 'emails', id], () =>
    api.get('/emails', { query: { contactId: id, limit: 10 } }),
  );
  const mails = counted(emails.data?.total ?? 0, 'email');
  return () =>
    confirm({
      title: `Erase ${email}?`,
      text: `Every trace of this contact goes, in records of others, too: its data, its events, ${mails}, and its executions. This cannot be taken back. The suppression list keeps a hash of the address, so that it gets no mail again.`,
      verb: 'Erase',
      typed: email,
      async send() {
        const body = { suppress: true };
        const { jobId } = await api.post('/contacts/{id}/erase', { path: { id }, body });
        await navigate({ to: path(`contacts/erasures/${jobId}`) });
        await readAgain(project.id, 'contacts');
        say(`${email} is being erased.`);
      },
    });
}
