import type { Domain } from '../../api/api.ts';
import { useLive } from '../../api/queries.ts';
import { PageHead } from '../../design/page-head.tsx';
import { Empty, Loaded } from '../../design/parts.tsx';
import { useProject } from '../../shell/project.ts';
import { AddDomain } from './add-domain.tsx';
import { DomainCard } from './domain-card.tsx';
import { Providers } from './providers/providers.tsx';
import { Ramps } from './ramps/ramps.tsx';
import { Routes } from './routes/routes.tsx';

/** Returns true if a check in the background may change the state of the domain or of a record. */
const isChanging = ({ status, dkim, tracking }: Domain) =>
  status === 'pending' || Boolean(dkim?.next) || tracking?.status === 'pending';

/** The domains from which the project sends. */
export function Page() {
  const { api, project } = useProject();
  const domains = useLive({
    key: [project.id, 'domains'],
    read: () => api.get('/domains'),
    isLive: (all) => all.some(isChanging),
  });
  return (
    <>
      <PageHead title="Domains" project={project.name} />
      <AddDomain />
      <Loaded query={domains}>
        {(all) =>
          all.length === 0 ? (
            <Empty>
              A domain is what stands after the @ in the addresses that you send from. Add yours,
              and show by its DNS records that it is yours.
            </Empty>
          ) : (
            all.map((domain) => <DomainCard key={domain.id} domain={domain} />)
          )
        }
      </Loaded>
      <Providers />
      <Routes />
      <Ramps />
    </>
  );
}
