import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import type { ApiKey } from '../../../api/api.ts';
import { Button } from '../../../design/button.tsx';
import { SelectField } from '../../../design/fields.tsx';
import { Card, Empty, Loaded, Time } from '../../../design/parts.tsx';
import { type Column, Table } from '../../../design/table.tsx';
import { useAddress } from '../../../shell/address.ts';
import { useProject } from '../../../shell/project.ts';
import { textOfActor } from '../../../words/actors.ts';
import { KeyState, kindNames } from './key-state.tsx';
import { NewKey } from './new-key.tsx';
import { useKeys } from '../shared/use-keys.ts';

const shownKeys = [
  { value: '', text: 'Valid' },
  { value: 'true', text: 'Revoked' },
];

/** Further keys, each with only the rights that it needs. */
export function NamedKeys() {
  const { adminOnly } = useProject();
  const [{ revoked }, set] = useAddress({ revoked: '' });
  const [isNew, setNew] = useState(false);
  const isRevoked = revoked === 'true';
  const keys = useKeys({ revoked: isRevoked, isLive: true });
  const create = (
    <Button isSmall disabledBecause={adminOnly} onClick={() => setNew(true)}>
      New key
    </Button>
  );
  return (
    <Card
      label="Named keys"
      actions={
        <>
          <SelectField
            label="Show"
            hidesLabel
            options={shownKeys}
            value={revoked}
            onChange={(value) => set({ revoked: value })}
          />
          {create}
        </>
      }
    >
      <Loaded query={keys}>
        {(all) => {
          if (all.length > 0) {
            return <Rows keys={all} isRevoked={isRevoked} />;
          }
          return (
            <Empty>
              {isRevoked
                ? 'No named key was revoked.'
                : 'A named key may do only what it is for: one per program, so that each can be replaced or revoked by itself.'}
            </Empty>
          );
        }}
      </Loaded>
      {isNew && <NewKey onClose={() => setNew(false)} />}
    </Card>
  );
}

function Rows({ keys, isRevoked }: { keys: readonly ApiKey[]; isRevoked: boolean }) {
  const { path } = useProject();
  const columns: Column<ApiKey>[] = [
    {
      name: 'Name',
      cell: ({ id, name }) => <Link to={path(`settings/keys/${id}`)}>{name}</Link>,
    },
    { name: 'State', cell: (key) => <KeyState apiKey={key} /> },
    { name: 'Kind', cell: ({ kind }) => kindNames[kind] },
    { name: 'Key', cell: ({ key }) => <code>{key}</code> },
    { name: 'Scopes', cell: ({ scopes }) => scopes.join(', ') },
    { name: 'Last used', cell: ({ lastUsedAt }) => <Time at={lastUsedAt} /> },
  ];
  const end: Column<ApiKey>[] = isRevoked
    ? [
        { name: 'Revoked', cell: ({ revokedAt }) => <Time at={revokedAt} /> },
        { name: 'By', cell: ({ revokedBy }) => textOfActor(revokedBy) },
      ]
    : [
        { name: 'Expires', cell: ({ expiresAt }) => <Time at={expiresAt} /> },
        { name: 'Created by', cell: ({ createdBy }) => textOfActor(createdBy) },
      ];
  return (
    <Table label="Named keys" rows={keys} keyOf={({ id }) => id} columns={[...columns, ...end]} />
  );
}
