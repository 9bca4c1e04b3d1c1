import type { ReactNode } from 'react';
import type { Everpost } from '../../../../../client/everpost.ts';
import { useRead } from '../../../api/queries.ts';
import { counted } from '../../../words/numbers.ts';

const one = { query: { pageSize: 1 } };

async function countAll(api: Everpost): Promise<string[]> {
  const [contacts, emails, templates, segments, campaigns, workflows] = await Promise.all([
    api.get('/contacts', { query: { limit: 1 } }),
    api.get('/emails', { query: { limit: 1 } }),
    api.get('/templates', one),
    api.get('/segments'),
    api.get('/campaigns', one),
    api.get('/workflows', one),
  ]);
  return [
    counted(contacts.total, 'contact'),
    counted(emails.total, 'email'),
    counted(templates.total, 'template'),
    counted(segments.length, 'segment'),
    counted(campaigns.total, 'campaign'),
    counted(workflows.total, 'workflow'),
  ];
}

/** The text of the dialog that is shown before everything in a project is deleted. */
export function Losses({
  api,
  projectId,
  children,
}: {
  api: Everpost;
  projectId: string;
  children: ReactNode;
}) {
  const { data: losses } = useRead([projectId, 'losses'], () => countAll(api));
  return (
    <div className="stack">
      <p>Lost for ever: {losses ? losses.join(', ') : 'all data of the project'}.</p>
      <p>{children}</p>
    </div>
  );
}
