import { useState } from 'react';
import { useRead } from '../api/queries.ts';
import { TextField } from '../design/fields.tsx';
import { useProject } from '../shell/project.ts';
import { useUser } from '../shell/user.ts';

export type PreviewContact = { contactId: string } | { contact: { email: string } };

/**
 * The contact for whom a mail is shown: the contact whose address was last typed into the field; at
 * first, the newest contact. If the project has no contacts, the user takes this place.
 */
export function usePreviewContact() {
  const { api, project } = useProject();
  const { email } = useUser();
  const [text, setText] = useState('');
  const query = { limit: 20, ...(text && { search: text }) };
  const found = useRead([project.id, 'contacts', query], () => api.get('/contacts', { query }));
  const contacts = found.data?.data ?? [];
  const [chosen, setChosen] = useState<{ id: string; email: string } | null>(null);
  const shown = contacts.find((contact) => contact.email === text) ?? chosen ?? contacts[0];
  if (shown && shown.id !== chosen?.id) setChosen({ id: shown.id, email: shown.email });
  const who: PreviewContact = shown ? { contactId: shown.id } : { contact: { email } };
  const field = (
    <>
      <TextField
        label="Preview as"
        placeholder={shown?.email ?? email}
        value={text}
        onChange={setText}
        list="preview-contacts"
        autoComplete="off"
        hint={shown ? `Shown for ${shown.email}.` : 'There are no contacts yet.'}
      />
      <datalist id="preview-contacts">
        {contacts.map((contact) => (
          <option key={contact.id} value={contact.email} />
        ))}
      </datalist>
    </>
  );
  return { who, field };
}
