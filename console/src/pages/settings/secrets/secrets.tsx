import '../shared/settings.css';
import { useState } from 'react';
import type { Secret } from '../../../api/api.ts';
import { useRead } from '../../../api/queries.ts';
import { Button } from '../../../design/button.tsx';
import { PageHead } from '../../../design/page-head.tsx';
import { Empty, Loaded, Time } from '../../../design/parts.tsx';
import { Table } from '../../../design/table.tsx';
import { useProject } from '../../../shell/project.ts';
import { SecretDialog } from './secret-dialog.tsx';
import { UsedIn } from './used-in.tsx';
import { useDeleteSecret } from './use-delete-secret.tsx';

/** Secrets for requests to other servers. Their values are never shown. */
export function Page() {
  const { api, project, adminOnly } = useProject();
  const [open, setOpen] = useState<Secret | 'new' | null>(null);
  const secrets = useRead([project.id, 'secrets'], () => api.get('/secrets'));
  const create = (
    <Button kind="primary" disabledBecause={adminOnly} onClick={() => setOpen('new')}>
      New secret
    </Button>
  );
  return (
    <>
      <PageHead title="Secrets" project={project.name} actions={create} />
      <Loaded query={secrets}>
        {(all) =>
          all.length === 0 ? (
            <Empty>
              A secret is a value such as the key of another service. Steps of the type Webhook and
              event subscriptions use it by name, and nobody can read it here again.
            </Empty>
          ) : (
            <Rows secrets={all} onReplace={setOpen} />
          )
        }
      </Loaded>
      {open && <SecretDialog secret={open === 'new' ? null : open} onClose={() => setOpen(null)} />}
    </>
  );
}

function Rows({
  secrets,
  onReplace,
}: {
  secrets: readonly Secret[];
  onReplace: (secret: Secret) => void;
}) {
  const { adminOnly } = useProject();
  const { hidden, run, dialog } = useDeleteSecret();
  return (
    <>
      <Table
        label="Secrets"
        rows={secrets.filter(({ name }) => !hidden.has(name))}
        keyOf={({ name }) => name}
        columns={[
          { name: 'Name', cell: ({ name }) => <code>{name}</code> },
          { name: 'Used in', cell: (secret) => <UsedIn secret={secret} /> },
          { name: 'Hosts', cell: ({ hosts }) => hosts?.join(', ') ?? 'All' },
          { name: 'Changed', cell: ({ updatedAt }) => <Time at={updatedAt} /> },
          {
            name: 'Actions',
            hidesName: true,
            cell: (secret) => (
              <div className="row-actions">
                <Button isSmall disabledBecause={adminOnly} onClick={() => onReplace(secret)}>
                  Replace
                </Button>
                <Button isSmall disabledBecause={adminOnly} onClick={() => run(secret)}>
                  Delete
                </Button>
              </div>
            ),
          },
        ]}
      />
      {dialog}
    </>
  );
}
