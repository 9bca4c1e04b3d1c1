import { Link } from '@tanstack/react-router';
import { EverpostError, type ErasureCounts } from '../../api/api.ts';
import { useLive } from '../../api/queries.ts';
import { PageHead } from '../../design/page-head.tsx';
import { Card, Figures, Loaded, State, Time } from '../../design/parts.tsx';
import { useParam } from '../../shell/address.ts';
import { NotFound } from '../../shell/not-found-page.tsx';
import { useProject } from '../../shell/project.ts';

/** Removed data in words. */
const names: Record<keyof ErasureCounts, string> = {
  contact: 'Contact',
  events: 'Events',
  emails: 'Emails',
  executions: 'Executions',
  memberships: 'Memberships in segments',
  topics: 'Choices of topics',
  consent: 'Lines of consent',
  attachments: 'Attachments',
  mailbox: 'Mails in the mailbox',
  otherEmails: 'Emails of others',
  jobErrors: 'Results of jobs',
  idempotency: 'Stored responses',
  deliveries: 'Deliveries of events',
  suppression: 'Suppression entries',
};

/** The erasure of a contact: first the progress, then the receipt. */
export function Page() {
  const { api, project, path } = useProject();
  const id = useParam('erasureId');
  const erasure = useLive({
    key: [project.id, 'erasures', id],
    read: () => api.get('/erasures/{id}', { path: { id } }),
    isLive: ({ state }) => state !== 'completed',
  });
  const { error } = erasure;
  if (error instanceof EverpostError && [404, 422].includes(error.status)) return <NotFound />;
  return (
    <Loaded query={erasure}>
      {({ at, requestedAt, counts, receiptHash }) => (
        <>
          <PageHead
            title="Erasure of a contact"
            project={project.name}
            trail={<Link to={path('contacts')}>All contacts</Link>}
            state={
              <State tone={at ? 'good' : 'neutral'}>{at ? 'Completed' : 'Being removed'}</State>
            }
          />
          <Card label="Receipt">
            <p>
              Requested <Time at={requestedAt} />
              {at && (
                <>
                  , completed <Time at={at} />
                </>
              )}
              .
            </p>
            {counts && (
              <Figures
                figures={(Object.keys(names) as (keyof ErasureCounts)[]).map((key) => ({
                  name: names[key],
                  value: counts[key],
                }))}
              />
            )}
            {receiptHash && (
              <p className="second small">
                SHA-256 of the receipt: <code>{receiptHash}</code>
              </p>
            )}
          </Card>
        </>
      )}
    </Loaded>
  );
}
