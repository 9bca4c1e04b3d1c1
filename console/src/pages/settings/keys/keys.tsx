import '../shared/settings.css';
import { useNavigate } from '@tanstack/react-router';
import type { ProjectWithNewKeys } from '../../../api/api.ts';
import { PageHead } from '../../../design/page-head.tsx';
import { Tabs } from '../../../design/tabs.tsx';
import { useAddress } from '../../../shell/address.ts';
import { useProject } from '../../../shell/project.ts';
import { KeyPair } from './key-pair.tsx';
import { NamedKeys } from './named-keys.tsx';
import { Requests } from '../records/requests.tsx';
import { SecurityEvents } from '../records/security-events.tsx';
import { useUntilLeft } from '../shared/use-until-left.ts';

/** The keys of the project, the requests with them, and the security events. */
export function Page() {
  const { project } = useProject();
  const navigate = useNavigate();
  const [{ tab }] = useAddress({ tab: 'Keys' });
  // The new secret key is only in memory and is forgotten when the page is left.
  const [made, setMade] = useUntilLeft<ProjectWithNewKeys>();
  return (
    <>
      <PageHead title="API keys" project={project.name} />
      <Tabs
        label="Keys and records"
        value={tab}
        onChange={(name) =>
          void navigate({ to: '.', search: name === 'Keys' ? {} : { tab: name } })
        }
        tabs={[
          {
            name: 'Keys',
            content: (
              <div className="stack">
                <KeyPair made={made} onMade={setMade} />
                <NamedKeys />
              </div>
            ),
          },
          { name: 'Requests', content: <Requests /> },
          { name: 'Security events', content: <SecurityEvents /> },
        ]}
      />
    </>
  );
}
