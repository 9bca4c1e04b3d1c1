import { useState } from 'react';
import type { InstallationProvider } from '../../../api/api.ts';
import { useLive } from '../../../api/queries.ts';
import { Button } from '../../../design/button.tsx';
import { Card, Loaded, State, Time } from '../../../design/parts.tsx';
import { Table } from '../../../design/table.tsx';
import { useProject } from '../../../shell/project.ts';
import { feedbackNames, providerKinds, providerStates } from '../../../words/settings/providers.ts';
import { ProviderActions } from './provider-actions.tsx';
import { ProviderDialog } from './provider-dialog.tsx';
import type { OwnProvider } from './provider-values.ts';
import { WebhookAddress } from './webhook-address.tsx';

type Provider = OwnProvider | InstallationProvider;

/** The servers and services by which mail leaves. */
export function Providers() {
  const { api, project, adminOnly } = useProject();
  const providers = useLive({
    key: [project.id, 'providers'],
    read: () => api.get('/providers'),
    isLive: (all) => all.some(({ state }) => state === 'down'),
  });
  const [edited, setEdited] = useState<OwnProvider | 'new' | null>(null);
  const [address, setAddress] = useState<string | null>(null);
  return (
    <Card
      label="Mail providers"
      actions={
        <Button disabledBecause={adminOnly} onClick={() => setEdited('new')}>
          Add provider
        </Button>
      }
    >
      <Loaded query={providers}>
        {(all) => <Rows providers={all} onEdit={setEdited} onAddress={setAddress} />}
      </Loaded>
      {edited !== null && (
        <ProviderDialog
          provider={edited === 'new' ? null : edited}
          onClose={() => setEdited(null)}
          onAdded={(feedbackUrl) => {
            setEdited(null);
            setAddress(feedbackUrl);
          }}
        />
      )}
      {address !== null && <WebhookAddress url={address} onClose={() => setAddress(null)} />}
    </Card>
  );
}

function Rows({
  providers,
  onEdit,
  onAddress,
}: {
  providers: readonly Provider[];
  onEdit: (provider: OwnProvider) => void;
  onAddress: (feedbackUrl: string) => void;
}) {
  return (
    <Table
      label="Mail providers"
      rows={providers}
      keyOf={({ id }) => id}
      columns={[
        {
          name: 'Name',
          cell: ({ name, scope }) => (
            <>
              {name} {scope === 'installation' && <span className="second">of this server</span>}
            </>
          ),
        },
        { name: 'Kind', cell: ({ kind }) => providerKinds[kind] },
        { name: 'State', cell: (provider) => <ProviderState provider={provider} /> },
        { name: 'Reports', cell: ({ feedback }) => feedbackNames[feedback] },
        {
          name: 'Delivery',
          cell: ({ reportsDelivery }) => (reportsDelivery ? 'is reported' : 'is not reported'),
        },
        {
          name: 'Actions',
          hidesName: true,
          cell: (provider) =>
            provider.scope === 'project' && (
              <ProviderActions
                provider={provider}
                onEdit={() => onEdit(provider)}
                onAddress={onAddress}
              />
            ),
        },
      ]}
    />
  );
}

function ProviderState({ provider: { state, nextTryAt } }: { provider: Provider }) {
  const { text, tone } = providerStates[state];
  return (
    <>
      <State tone={tone}>{text}</State>{' '}
      {nextTryAt && (
        <span className="second">
          next try <Time at={nextTryAt} />
        </span>
      )}
    </>
  );
}
