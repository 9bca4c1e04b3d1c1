import { useState } from 'react';
import type { Domain } from '../../api/api.ts';
import { readAgain } from '../../api/queries.ts';
import { Button } from '../../design/button.tsx';
import { Card, Time } from '../../design/parts.tsx';
import { mailUses, useDeletion } from '../../editing/deletion.tsx';
import { useProject } from '../../shell/project.ts';
import { domainSentences } from '../../words/settings/domains.ts';
import { CheckNow, DnsRecords, DomainState } from './dns-records.tsx';
import { DomainFacts } from './domain-facts.tsx';
import { DomainSettings } from './domain-settings.tsx';
import { RotateKey } from './rotate-key.tsx';

/** A domain: its state, its DNS records, and its settings. */
export function DomainCard({ domain }: { domain: Domain }) {
  const { adminOnly } = useProject();
  const [isEditing, setEditing] = useState(false);
  const { id, domain: name, status, dkim, lastCheckedAt } = domain;
  return (
    <Card
      label={name}
      actions={
        <>
          <CheckNow id={id} />
          {dkim && <RotateKey domain={domain} />}
          <Button disabledBecause={adminOnly} onClick={() => setEditing(true)}>
            Signing and links
          </Button>
          <DeleteDomain domain={domain} />
        </>
      }
    >
      <p className="actions">
        <DomainState status={status} />
        <span>{domainSentences[status]}</span>
        {lastCheckedAt && (
          <span className="second">
            last check <Time at={lastCheckedAt} />
          </span>
        )}
      </p>
      <DnsRecords domain={domain} />
      <DomainFacts domain={domain} />
      {isEditing && <DomainSettings domain={domain} onClose={() => setEditing(false)} />}
    </Card>
  );
}

function DeleteDomain({ domain: { id, domain: name } }: { domain: Domain }) {
  const { api, project, path, adminOnly } = useProject();
  const { ask, dialog } = useDeletion();
  const remove = () =>
    ask({
      name,
      text: `No mail can be sent from ${name} any more, and its keys are lost. Mail that was sent stays.`,
      async send() {
        await api.delete('/domains/{id}', { path: { id } });
        await readAgain(project.id, 'domains');
      },
      usesIn: (details) => [
        ...mailUses(details, path),
        ...(details['consentPolicy']
          ? [{ text: 'The confirmation mail', to: path('settings/consent') }]
          : []),
      ],
    });
  return (
    <>
      <Button kind="danger" disabledBecause={adminOnly} onClick={remove}>
        Delete
      </Button>
      {dialog}
    </>
  );
}
