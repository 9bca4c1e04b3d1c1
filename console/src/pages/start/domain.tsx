import { Link } from '@tanstack/react-router';
import { useEffect } from 'react';
import { readAgain, useLive } from '../../api/queries.ts';
import type { Domain as SenderDomain } from '../../api/api.ts';
import { Loaded } from '../../design/parts.tsx';
import { useProject } from '../../shell/project.ts';
import { AddDomain } from '../domains/add-domain.tsx';
import { CheckNow, DnsRecords, DomainState } from '../domains/dns-records.tsx';
import { StepCard } from './step-card.tsx';

/** Reads the sender domains of the project repeatedly until one is verified. */
export function useDomains() {
  const { api, project } = useProject();
  return useLive({
    key: [project.id, 'domains'],
    read: () => api.get('/domains'),
    isLive: (domains) => domains.length > 0 && domains.every(({ verified }) => !verified),
  });
}

/** The domain from which the project sends. */
export function Domain({ isDone }: { isDone: boolean | undefined }) {
  const { project } = useProject();
  const domains = useDomains();
  const isVerified = domains.data?.some(({ verified }) => verified) ?? false;
  useEffect(() => {
    if (isVerified) void readAgain(project.id, 'start');
  }, [isVerified, project.id]);
  return (
    <StepCard label="Domain" isDone={isDone}>
      <Loaded query={domains} lines={2}>
        {([domain, ...others]) =>
          domain === undefined ? (
            <>
              <p>Mail is sent from a domain that is yours. DNS records prove it.</p>
              <AddDomain />
            </>
          ) : (
            <OneDomain domain={domain} others={others.length} />
          )
        }
      </Loaded>
    </StepCard>
  );
}

function OneDomain({ domain, others }: { domain: SenderDomain; others: number }) {
  const { path } = useProject();
  const { id, domain: name, verified } = domain;
  return (
    <>
      <div className="actions">
        <strong>{name}</strong>
        <DomainState status={domain.status} />
      </div>
      <p>
        {verified
          ? 'Mail can be sent from it.'
          : 'Publish these records at your DNS provider. They are checked every few minutes.'}
      </p>
      <DnsRecords domain={domain} />
      <div className="actions">
        <CheckNow id={id} />
        <Link to={path('settings/domains')}>
          {others > 0 ? `All ${others + 1} domains` : 'All settings of domains'}
        </Link>
      </div>
    </>
  );
}
